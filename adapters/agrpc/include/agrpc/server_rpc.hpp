// server_rpc: RPCs of a server, as in version 3 of asio-grpc.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/default_server_rpc_traits.hpp"
#include "agrpc/grpc_context.hpp"
#include "agrpc/grpc_executor.hpp"
#include "agrpc/impl/initiate.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/manual_event.hpp"
#include "agrpc/impl/method_name.hpp"
#include "agrpc/rpc_type.hpp"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include <concepts>
#include <string_view>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

template <class Rpc>
class ServerRPCPtr;

namespace internal {

// What the type of &AsyncService::RequestX says.
template <class Function>
struct server_method;
template <class ServiceT, class RequestT, class ResponseT>
struct server_method<void (ServiceT::*)(grpc::ServerContext*, RequestT*,
                                        grpc::ServerAsyncResponseWriter<ResponseT>*, grpc::CompletionQueue*,
                                        grpc::ServerCompletionQueue*, void*)> {
  using Service = ServiceT;
  using Request = RequestT;
  using Response = ResponseT;
  using Responder = grpc::ServerAsyncResponseWriter<ResponseT>;
  static constexpr ServerRPCType type = ServerRPCType::UNARY;
};
template <class ServiceT, class RequestT, class ResponseT>
struct server_method<void (ServiceT::*)(grpc::ServerContext*, RequestT*, grpc::ServerAsyncWriter<ResponseT>*,
                                        grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*)> {
  using Service = ServiceT;
  using Request = RequestT;
  using Response = ResponseT;
  using Responder = grpc::ServerAsyncWriter<ResponseT>;
  static constexpr ServerRPCType type = ServerRPCType::SERVER_STREAMING;
};
template <class ServiceT, class RequestT, class ResponseT>
struct server_method<void (ServiceT::*)(grpc::ServerContext*, grpc::ServerAsyncReader<ResponseT, RequestT>*,
                                        grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*)> {
  using Service = ServiceT;
  using Request = RequestT;
  using Response = ResponseT;
  using Responder = grpc::ServerAsyncReader<ResponseT, RequestT>;
  static constexpr ServerRPCType type = ServerRPCType::CLIENT_STREAMING;
};
template <class ServiceT, class RequestT, class ResponseT>
struct server_method<void (ServiceT::*)(grpc::ServerContext*,
                                        grpc::ServerAsyncReaderWriter<ResponseT, RequestT>*,
                                        grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*)> {
  using Service = ServiceT;
  using Request = RequestT;
  using Response = ResponseT;
  using Responder = grpc::ServerAsyncReaderWriter<ResponseT, RequestT>;
  static constexpr ServerRPCType type = ServerRPCType::BIDIRECTIONAL_STREAMING;
};

template <auto Function>
struct server_rpc_traits : server_method<decltype(Function)> {
  using Context = grpc::ServerContext;
  static std::string_view service_name() noexcept { return service_name_of<Function>::value; }
  static std::string_view method_name() noexcept { return internal::method_name_of<Function>::value; }
  template <class Service, class... Args>
  static void request(Service& service, Args&&... args) {
    (service.*Function)(std::forward<Args>(args)...);
  }
};
template <>
struct server_rpc_traits<ServerRPCType::GENERIC> {
  using Context = grpc::GenericServerContext;
  using Service = grpc::AsyncGenericService;
  using Request = grpc::ByteBuffer;
  using Response = grpc::ByteBuffer;
  using Responder = grpc::GenericServerAsyncReaderWriter;
  static constexpr ServerRPCType type = ServerRPCType::GENERIC;
  template <class... Args>
  static void request(Service& service, Args&&... args) {
    service.RequestCall(std::forward<Args>(args)...);
  }
};

template <class Rpc>
class held_rpc;

// Sees the end of an RPC, if its traits ask for that.
template <bool Enabled>
class done_watch {};
template <>
class done_watch<true> : queue_operation {
 public:
  done_watch() noexcept : queue_operation(&done_watch::processed) {}
  // Before the RPC is requested. The event arrives only if the RPC begins.
  void begin(grpc::ServerContext& context) { context.AsyncNotifyWhenDone(tag()); }
  // The RPC has begun, and `arrived(object)` is called after its end.
  void started(GrpcContext& context, void (*arrived)(void*), void* object) {
    context.work_started();
    arrived_ = arrived;
    object_ = object;
  }
  [[nodiscard]] manual_event<>& done() noexcept { return done_; }

 private:
  static void processed(queue_operation& o, event, GrpcContext&) {
    auto& self = static_cast<done_watch&>(o);
    self.done_.set();
    self.arrived_(self.object_);
  }
  manual_event<> done_;
  void (*arrived_)(void*) = nullptr;
  void* object_ = nullptr;
};
}  // namespace internal

/// An RPC of a server: one of the functions that register handlers makes it and passes it to the handler. `Function` is
/// a member function of generated code, `&AsyncService::RequestX`. `TraitsT` derives from DefaultServerRPCTraits.
///
/// The functions below start one operation each, and take a completion token; the default is asio::use_awaitable. The
/// handlers' signature is `void(bool)`, with false if the RPC has ended. What a function takes by reference must
/// outlive the operation. One read and one write may be in progress at the same time.
///
/// Cancellation of an operation, `terminal` or `partial`, cancels the RPC. An RPC that is destroyed before it was
/// finished is cancelled.
template <auto Function, class TraitsT = DefaultServerRPCTraits, class Executor = GrpcExecutor>
class ServerRPC {
  using traits = internal::server_rpc_traits<Function>;
  static constexpr ServerRPCType type = traits::type;
  static constexpr bool is_generic = type == ServerRPCType::GENERIC;
  static constexpr bool has_one_request =
      type == ServerRPCType::UNARY || type == ServerRPCType::SERVER_STREAMING;
  static constexpr bool has_one_response =
      type == ServerRPCType::UNARY || type == ServerRPCType::CLIENT_STREAMING;
  static constexpr bool watches = TraitsT::NOTIFY_WHEN_DONE;
  using default_token = internal::default_token_of<Executor>;

 public:
  static constexpr ServerRPCType TYPE = type;
  using Request = typename traits::Request;
  using Response = typename traits::Response;
  using Service = typename traits::Service;
  using Traits = TraitsT;
  using executor_type = Executor;
  /// What the handlers of register_callback_rpc_handler() get.
  using Ptr = ServerRPCPtr<ServerRPC>;
  template <class OtherExecutor>
  struct rebind_executor {
    using other = ServerRPC<Function, TraitsT, OtherExecutor>;
  };

  ServerRPC(ServerRPC&&) = delete;
  ~ServerRPC() { cancel_unfinished(); }

  /// The names of the service, "package.Service", and of the method, as the code generator knew them.
  [[nodiscard]] static std::string_view service_name() noexcept
    requires(!is_generic)
  {
    return traits::service_name();
  }
  [[nodiscard]] static std::string_view method_name() noexcept
    requires(!is_generic)
  {
    return traits::method_name();
  }

  [[nodiscard]] auto& context() noexcept { return context_; }
  [[nodiscard]] const auto& context() const noexcept { return context_; }
  [[nodiscard]] executor_type get_executor() const noexcept { return executor_; }
  [[nodiscard]] executor_type get_scheduler() const noexcept { return executor_; }
  /// Cancels the RPC, from any thread.
  void cancel() noexcept { context_.TryCancel(); }

  /// Returns whether the RPC has ended: its last operation was sent, or the client is gone, which
  /// `context().IsCancelled()` tells then.
  [[nodiscard]] bool is_done() const
    requires watches
  {
    return const_cast<ServerRPC&>(*this).watch_.done().is_set();
  }
  /// Waits for that. Signature: `void(error_code)`; the error is operation_aborted if the wait was cancelled.
  template <class Token = default_token>
    requires watches
  auto wait_for_done(Token&& token = Token()) {
    return watch_.done().wait(executor_, std::forward<Token>(token));
  }

  template <class Token = default_token>
  auto send_initial_metadata(Token&& token = Token()) {
    return event([](ServerRPC& r, void* tag) { r.responder_.SendInitialMetadata(tag); },
                 std::forward<Token>(token));
  }
  template <class Token = default_token>
    requires(!has_one_request)
  auto read(Request& message, Token&& token = Token()) {
    return event([m = &message](ServerRPC& r, void* tag) { r.responder_.Read(m, tag); },
                 std::forward<Token>(token));
  }
  template <class Token = default_token>
    requires(!has_one_response && !std::same_as<std::remove_cvref_t<Token>, grpc::WriteOptions>)
  auto write(const Response& response, Token&& token = Token()) {
    return write(response, grpc::WriteOptions(), std::forward<Token>(token));
  }
  /// With options: set_last_message() has the message sent together with the status.
  template <class Token = default_token>
    requires(!has_one_response)
  auto write(const Response& response, grpc::WriteOptions options, Token&& token = Token()) {
    return event([m = &response, options](ServerRPC& r, void* tag) { r.responder_.Write(*m, options, tag); },
                 std::forward<Token>(token));
  }
  /// Writes the last message and ends the RPC.
  template <class Token = default_token>
    requires(!has_one_response)
  auto write_and_finish(const Response& response, const grpc::Status& status, Token&& token = Token()) {
    return write_and_finish(response, grpc::WriteOptions(), status, std::forward<Token>(token));
  }
  template <class Token = default_token>
    requires(!has_one_response)
  auto write_and_finish(const Response& response, grpc::WriteOptions options, const grpc::Status& status,
                        Token&& token = Token()) {
    return event(
        [m = &response, options, status](ServerRPC& r, void* tag) {
          r.finished_ = true;
          r.responder_.WriteAndFinish(*m, options, status, tag);
        },
        std::forward<Token>(token));
  }
  /// Ends the RPC.
  template <class Token = default_token>
    requires has_one_response
  auto finish(const Response& response, const grpc::Status& status, Token&& token = Token()) {
    return event(
        [m = &response, status](ServerRPC& r, void* tag) {
          r.finished_ = true;
          r.responder_.Finish(*m, status, tag);
        },
        std::forward<Token>(token));
  }
  template <class Token = default_token>
    requires has_one_response
  auto finish_with_error(const grpc::Status& status, Token&& token = Token()) {
    return event(
        [status](ServerRPC& r, void* tag) {
          r.finished_ = true;
          r.responder_.FinishWithError(status, tag);
        },
        std::forward<Token>(token));
  }
  template <class Token = default_token>
    requires(!has_one_response)
  auto finish(const grpc::Status& status, Token&& token = Token()) {
    return event(
        [status](ServerRPC& r, void* tag) {
          r.finished_ = true;
          r.responder_.Finish(status, tag);
        },
        std::forward<Token>(token));
  }

 private:
  template <class Rpc>
  friend class internal::held_rpc;

  template <class Rpc, class F>
  struct rpc_step {
    using result = bool;
    void start(GrpcContext&, void* tag) { function(*rpc, tag); }
    [[nodiscard]] static bool take(bool ok) noexcept { return ok; }
    void cancel() { rpc->cancel(); }
    Rpc* rpc;
    F function;
  };

  explicit ServerRPC(const Executor& executor) : executor_(executor) {}

  template <class F, class Token>
  auto event(F function, Token&& token) {
    return internal::initiate(executor_, rpc_step<ServerRPC, F>{this, std::move(function)},
                              std::forward<Token>(token));
  }
  template <class ServiceT>
  void request_from(ServiceT& service, [[maybe_unused]] Request* message, grpc::ServerCompletionQueue* queue,
                    void* tag) {
    if constexpr (watches) watch_.begin(context_);
    if constexpr (has_one_request)
      traits::request(service, &context_, message, &responder_, queue, queue, tag);
    else traits::request(service, &context_, &responder_, queue, queue, tag);
  }
  void cancel_unfinished() {
    if (started_ && !std::exchange(finished_, true)) context_.TryCancel();
  }

  Executor executor_;
  typename traits::Context context_;
  typename traits::Responder responder_{&context_};
  bool started_ = false;
  bool finished_ = false;
  [[no_unique_address]] internal::done_watch<watches> watch_;
};

/// An RPC of any method, whose messages are bytes. `context().method()` is the method's path.
using GenericServerRPC = ServerRPC<ServerRPCType::GENERIC>;

}  // namespace agrpc::inline CORACLE_ASIO
