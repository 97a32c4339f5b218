// health_check_service: the standard health service on the completion queue of a GrpcContext.
#pragma once

#include "agrpc/grpc_context.hpp"
#include "agrpc/impl/health_messages.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/queue_operation.hpp"

#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

// For programs that get the messages along with this header, as from asio-grpc's.
#if __has_include(<grpc/health/v1/health.grpc.pb.h>)
#include <grpc/health/v1/health.grpc.pb.h>
#endif

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

class health_watch;

// What a service shares with its RPCs, which may outlive it.
struct health_state {
  // With the mutex.
  [[nodiscard]] serving_status of(const std::string& service) const {
    const auto found = serving.find(service);
    if (found == serving.end()) return serving_status::service_unknown;
    return found->second ? serving_status::serving : serving_status::not_serving;
  }
  mutable std::mutex mutex;
  std::map<std::string, bool> serving{{"", true}};
  std::list<health_watch*> watches;
  bool shut_down = false;
};

// An operation that is no work of its context: a context that has nothing but a health service to wait for is out of work.
template <class Of>
class uncounted_event : public queue_operation {
 public:
  using handler = void (Of::*)(event);
  uncounted_event(Of& of, handler on_event) noexcept
      : queue_operation(&uncounted_event::processed), of_(of), on_event_(on_event) {}

 private:
  static void processed(queue_operation& o, event e, GrpcContext& context) {
    auto& self = static_cast<uncounted_event&>(o);
    if (e != event::abandoned) context.work_started();  // which ends when this has returned
    (self.of_.*self.on_event_)(e);
  }
  Of& of_;
  handler on_event_;
};

// One RPC of Check. It owns itself, and requests the next one when it begins.
class health_check {
 public:
  static void request(GrpcContext& context, raw_health_service& service,
                      std::shared_ptr<health_state> state) {
    auto* const made = new health_check(context, service, std::move(state));
    auto* const queue = context.get_server_completion_queue();
    service.RequestCheck(&made->server_context_, &made->message_, &made->writer_, queue, queue,
                         made->begun_.tag());
  }

 private:
  health_check(GrpcContext& context, raw_health_service& service, std::shared_ptr<health_state> state)
      : context_(context), service_(service), state_(std::move(state)) {}
  void begun(event e) {
    if (e != event::ok) {
      delete this;
      return;
    }
    request(context_, service_, state_);
    const auto name = parse_health_request(message_);
    if (!name) {
      writer_.FinishWithError(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "cannot parse the request"),
                              ended_.tag());
      return;
    }
    serving_status status = serving_status::service_unknown;
    {
      const std::lock_guard lock(state_->mutex);
      status = state_->of(*name);
    }
    if (status == serving_status::service_unknown)
      writer_.FinishWithError(grpc::Status(grpc::StatusCode::NOT_FOUND, "service name unknown"),
                              ended_.tag());
    else writer_.Finish(make_health_response(status), grpc::Status::OK, ended_.tag());
  }
  void ended(event) { delete this; }

  GrpcContext& context_;
  raw_health_service& service_;
  std::shared_ptr<health_state> state_;
  grpc::ServerContext server_context_;
  grpc::ByteBuffer message_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> writer_{&server_context_};
  uncounted_event<health_check> begun_{*this, &health_check::begun};
  uncounted_event<health_check> ended_{*this, &health_check::ended};
};

// One RPC of Watch, which owns itself. Each state that it has not sent is written when the write before it is done.
class health_watch {
 public:
  static void request(GrpcContext& context, raw_health_service& service,
                      std::shared_ptr<health_state> state) {
    auto* const made = new health_watch(context, service, std::move(state));
    auto* const queue = context.get_server_completion_queue();
    made->server_context_.AsyncNotifyWhenDone(made->done_.tag());
    service.RequestWatch(&made->server_context_, &made->message_, &made->writer_, queue, queue,
                         made->begun_.tag());
  }
  // Sends the state of the service if it is another one than the last. With the mutex of the state.
  void update() {
    if (writing_ || finishing_ || is_done_) return;
    const serving_status status = state_->of(name_);
    if (sent_ == status) return;
    sent_ = status;
    writing_ = true;
    writer_.Write(make_health_response(status), written_.tag());
  }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  health_watch(GrpcContext& context, raw_health_service& service, std::shared_ptr<health_state> state)
      : context_(context), service_(service), state_(std::move(state)) {}
  void begun(event e) {
    if (e != event::ok) {
      delete this;
      return;
    }
    request(context_, service_, state_);
    const std::lock_guard lock(state_->mutex);
    auto name = parse_health_request(message_);
    if (!name) {
      finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "cannot parse the request"));
      return;
    }
    name_ = *std::move(name);
    state_->watches.push_back(this);
    update();
  }
  void written(event e) {
    const auto state = state_;
    const std::lock_guard lock(state->mutex);
    writing_ = false;
    if (e == event::ok && !is_done_) update();
    else end(e);
  }
  void done(event e) {
    const auto state = state_;
    const std::lock_guard lock(state->mutex);
    is_done_ = true;
    end(e);
  }
  void finished(event e) {
    const auto state = state_;
    const std::lock_guard lock(state->mutex);
    is_finished_ = true;
    end(e);
  }
  // With the mutex. The watch is no more when it has finished and nothing of it is in progress.
  void end(event e) {
    if (writing_) return;
    if (!finishing_) {
      if (e == event::abandoned) finishing_ = is_finished_ = true;
      else finish(grpc::Status(grpc::StatusCode::CANCELLED, "the watch has ended"));
    }
    if (!is_finished_ || !is_done_) return;
    state_->watches.remove(this);
    delete this;
  }
  void finish(const grpc::Status& status) {
    finishing_ = true;
    writer_.Finish(status, finished_.tag());
  }

  GrpcContext& context_;
  raw_health_service& service_;
  std::shared_ptr<health_state> state_;
  std::string name_;
  std::optional<serving_status> sent_;
  bool writing_ = false;
  bool finishing_ = false;
  bool is_finished_ = false;
  bool is_done_ = false;
  grpc::ServerContext server_context_;
  grpc::ByteBuffer message_;
  grpc::ServerAsyncWriter<grpc::ByteBuffer> writer_{&server_context_};
  uncounted_event<health_watch> begun_{*this, &health_watch::begun};
  uncounted_event<health_watch> written_{*this, &health_watch::written};
  uncounted_event<health_watch> done_{*this, &health_watch::done};
  uncounted_event<health_watch> finished_{*this, &health_watch::finished};
};

}  // namespace internal

/// Answers grpc.health.v1.Health's Check and Watch in a GrpcContext: the replacement of grpc++'s default service for
/// servers with completion queues. Any thread may call its functions. Its RPCs are no work of the context, whose run()
/// returns when it has nothing else to wait for.
class HealthCheckService final : public grpc::HealthCheckServiceInterface {
 public:
  explicit HealthCheckService(grpc::ServerBuilder& builder) { builder.RegisterService(&service_); }

  /// Sets the state of a service, "package.Service". The empty name is that of the server, which serves at first.
  /// After Shutdown(), a service that was not known becomes known as NOT_SERVING.
  void SetServingStatus(const std::string& service_name, bool serving) override {
    const std::lock_guard lock(state_->mutex);
    state_->serving[service_name] = serving && !state_->shut_down;
    for (internal::health_watch* const w : state_->watches)
      if (w->name() == service_name) w->update();
  }
  /// Sets the state of all services.
  void SetServingStatus(bool serving) override {
    const std::lock_guard lock(state_->mutex);
    if (!state_->shut_down) set_all(serving);
  }
  /// Sets all services to NOT_SERVING for good.
  void Shutdown() override {
    const std::lock_guard lock(state_->mutex);
    state_->shut_down = true;
    set_all(false);
  }
  /// Begins to handle RPCs in the context, whose completion queue belongs to the server. Call it once, after
  /// grpc::ServerBuilder::BuildAndStart().
  void Start(GrpcContext& grpc_context) {
    internal::health_watch::request(grpc_context, service_, state_);
    internal::health_check::request(grpc_context, service_, state_);
  }

 private:
  void set_all(bool serving) {
    for (auto& [name, state] : state_->serving) state = serving;
    for (internal::health_watch* const w : state_->watches) w->update();
  }

  internal::raw_health_service service_;
  std::shared_ptr<internal::health_state> state_ = std::make_shared<internal::health_state>();
};

/// Adds a HealthCheckService to the server that `builder` makes, in place of grpc++'s default one, and returns `builder`.
/// The server owns the service; grpc::Server::GetHealthCheckService() returns it.
inline grpc::ServerBuilder& add_health_check_service(grpc::ServerBuilder& builder) {
  return builder.SetOption(std::make_unique<grpc::HealthCheckServiceServerBuilderOption>(
      std::make_unique<HealthCheckService>(builder)));
}

/// Has the service that add_health_check_service() added handle its RPCs in a context of the server.
inline void start_health_check_service(grpc::Server& server, GrpcContext& grpc_context) {
  static_cast<HealthCheckService*>(server.GetHealthCheckService())->Start(grpc_context);
}
inline void start_health_check_service(HealthCheckService& service, GrpcContext& grpc_context) {
  service.Start(grpc_context);
}

}  // namespace agrpc::inline CORACLE_ASIO
