// health_check_service: the standard health service on the completion queue of a GrpcContext.
#pragma once

#include "agrpc/grpc_context.hpp"
#include "agrpc/impl/health_messages.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/manual_event.hpp"
#include "agrpc/register_awaitable_rpc_handler.hpp"
#include "agrpc/server_rpc.hpp"

#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/awaitable.hpp>
#include <asio/detached.hpp>
#else
#include <boost/asio/awaitable.hpp>
#include <boost/asio/detached.hpp>
#endif

#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

// The methods of grpc.health.v1.Health with bytes as messages.
class raw_health_service : public grpc::Service {
 public:
  raw_health_service() {
    using type = grpc::internal::RpcMethod::RpcType;
    AddMethod(
        new grpc::internal::RpcServiceMethod("/grpc.health.v1.Health/Check", type::NORMAL_RPC, nullptr));
    AddMethod(new grpc::internal::RpcServiceMethod("/grpc.health.v1.Health/Watch", type::SERVER_STREAMING,
                                                   nullptr));
    MarkMethodRaw(0);
    MarkMethodRaw(1);
  }
  void RequestCheck(grpc::ServerContext* context, grpc::ByteBuffer* message,
                    grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>* response,
                    grpc::CompletionQueue* call_queue, grpc::ServerCompletionQueue* queue, void* tag) {
    RequestAsyncUnary(0, context, message, response, call_queue, queue, tag);
  }
  void RequestWatch(grpc::ServerContext* context, grpc::ByteBuffer* message,
                    grpc::ServerAsyncWriter<grpc::ByteBuffer>* writer, grpc::CompletionQueue* call_queue,
                    grpc::ServerCompletionQueue* queue, void* tag) {
    RequestAsyncServerStreaming(1, context, message, writer, call_queue, queue, tag);
  }
};

struct watched_rpc : DefaultServerRPCTraits {
  static constexpr bool NOTIFY_WHEN_DONE = true;
};

}  // namespace internal

/// Answers grpc.health.v1.Health's Check and Watch in a GrpcContext: the replacement of grpc++'s default service for
/// servers with completion queues. Any thread may call its functions.
class HealthCheckService final : public grpc::HealthCheckServiceInterface {
 public:
  explicit HealthCheckService(grpc::ServerBuilder& builder) { builder.RegisterService(&service_); }

  /// Sets the state of a service, "package.Service". The empty name is that of the server, which serves at first.
  void SetServingStatus(const std::string& service_name, bool serving) override {
    const std::lock_guard lock(mutex_);
    if (!shut_down_) set(service_name, serving);
  }
  /// Sets the state of all services.
  void SetServingStatus(bool serving) override {
    const std::lock_guard lock(mutex_);
    if (!shut_down_) set_all(serving);
  }
  /// Sets all services to NOT_SERVING for good.
  void Shutdown() override {
    const std::lock_guard lock(mutex_);
    shut_down_ = true;
    set_all(false);
  }
  /// Begins to handle RPCs in the context, whose completion queue belongs to the server. Call it once, after
  /// grpc::ServerBuilder::BuildAndStart().
  void Start(GrpcContext& grpc_context) {
    register_awaitable_rpc_handler<check_rpc>(
        grpc_context, service_,
        [this](check_rpc& rpc, grpc::ByteBuffer& message) { return check(*this, rpc, message); },
        asio::detached);
    register_awaitable_rpc_handler<watch_rpc>(
        grpc_context, service_,
        [this](watch_rpc& rpc, grpc::ByteBuffer& message) { return watch(*this, rpc, message); },
        asio::detached);
  }

 private:
  using serving_status = internal::serving_status;
  using check_rpc = ServerRPC<&internal::raw_health_service::RequestCheck>;
  using watch_rpc = ServerRPC<&internal::raw_health_service::RequestWatch, internal::watched_rpc>;

  // One that watches a service. `changed` is set after each change, and after the end of the RPC.
  struct watcher {
    std::string service;
    internal::manual_event<> changed;
  };

  static asio::awaitable<void> check(HealthCheckService& self, check_rpc& rpc, grpc::ByteBuffer& message) {
    const auto service = internal::parse_health_request(message);
    if (!service) {
      co_await rpc.finish_with_error(
          grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "cannot parse the request"));
      co_return;
    }
    const serving_status status = self.status_of(*service);
    if (status == serving_status::service_unknown) {
      co_await rpc.finish_with_error(
          grpc::Status(grpc::StatusCode::NOT_FOUND, "unknown service \"" + *service + "\""));
      co_return;
    }
    const grpc::ByteBuffer response = internal::make_health_response(status);
    co_await rpc.finish(response, grpc::Status::OK);
  }
  static asio::awaitable<void> watch(HealthCheckService& self, watch_rpc& rpc, grpc::ByteBuffer& message) {
    auto service = internal::parse_health_request(message);
    if (!service) {
      co_await rpc.finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "cannot parse the request"));
      co_return;
    }
    const auto watching = self.add_watcher(*std::move(service));
    const auto ended = [watching](internal::error_code) { watching->changed.set(); };
    rpc.wait_for_done(ended);
    std::optional<serving_status> sent;
    while (!rpc.is_done()) {
      watching->changed.clear();
      const serving_status status = self.status_of(watching->service);
      if (sent != status) {
        sent = status;
        const grpc::ByteBuffer response = internal::make_health_response(status);
        const bool ok = co_await rpc.write(response);
        if (!ok) break;
        continue;  // the state may have changed meanwhile
      }
      if (!rpc.is_done()) co_await watching->changed.wait(rpc.get_executor(), DefaultCompletionToken());
    }
    self.remove_watcher(watching);
    co_await rpc.finish(grpc::Status(grpc::StatusCode::CANCELLED, "the watch has ended"));
  }

  [[nodiscard]] serving_status status_of(const std::string& service) const {
    const std::lock_guard lock(mutex_);
    const auto found = serving_.find(service);
    if (found == serving_.end()) return serving_status::service_unknown;
    return found->second ? serving_status::serving : serving_status::not_serving;
  }
  [[nodiscard]] std::shared_ptr<watcher> add_watcher(std::string service) {
    auto added = std::make_shared<watcher>();
    added->service = std::move(service);
    const std::lock_guard lock(mutex_);
    watchers_.push_back(added);
    return added;
  }
  void remove_watcher(const std::shared_ptr<watcher>& removed) {
    const std::lock_guard lock(mutex_);
    watchers_.remove(removed);
  }
  void set(const std::string& service, bool serving) {
    serving_[service] = serving;
    for (const auto& w : watchers_)
      if (w->service == service) w->changed.set();
  }
  void set_all(bool serving) {
    for (auto& [name, state] : serving_) state = serving;
    for (const auto& w : watchers_) w->changed.set();
  }

  internal::raw_health_service service_;
  mutable std::mutex mutex_;
  std::map<std::string, bool> serving_{{"", true}};
  std::list<std::shared_ptr<watcher>> watchers_;
  bool shut_down_ = false;
};

/// Adds a HealthCheckService to the server that `builder` makes, in place of grpc++'s default one. The server owns it;
/// grpc::Server::GetHealthCheckService() returns it.
inline HealthCheckService& add_health_check_service(grpc::ServerBuilder& builder) {
  auto made = std::make_unique<HealthCheckService>(builder);
  HealthCheckService& service = *made;
  builder.SetOption(std::make_unique<grpc::HealthCheckServiceServerBuilderOption>(std::move(made)));
  return service;
}

/// Has the service that add_health_check_service() added handle its RPCs in a context of the server.
inline void start_health_check_service(grpc::Server& server, GrpcContext& grpc_context) {
  static_cast<HealthCheckService*>(server.GetHealthCheckService())->Start(grpc_context);
}
inline void start_health_check_service(HealthCheckService& service, GrpcContext& grpc_context) {
  service.Start(grpc_context);
}

}  // namespace agrpc::inline CORACLE_ASIO
