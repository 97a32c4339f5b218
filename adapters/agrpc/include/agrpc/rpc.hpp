// rpc: RPCs as in version 2 of asio-grpc: functions over the responders of grpc++, and RPC, a client's.
#pragma once

#include "agrpc/client_rpc.hpp"
#include "agrpc/default_completion_token.hpp"
#include "agrpc/impl/free_functions.hpp"
#include "agrpc/impl/initiate.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/notify_when_done.hpp"
#include "agrpc/read.hpp"
#include "agrpc/rpc_type.hpp"

#include <grpcpp/alarm.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

// Starts the call of a stream, and reads the status if that fails.
template <class Rpc, class Make>
struct start_rpc {
  using result = Rpc;
  void start(GrpcContext& context, void* tag) { make(rpc, context.get_completion_queue(), tag); }
  [[nodiscard]] bool proceed(GrpcContext&, void* tag, bool ok) {
    return !std::exchange(started, true) && !ok && rpc.begin_finish(tag);
  }
  [[nodiscard]] Rpc take(bool) { return std::move(rpc); }
  void cancel() { rpc.cancel(); }
  Rpc rpc;
  Make make;
  bool started = false;
};

// An operation whose failure ends the RPC: the status is read then.
template <class Rpc, class Function>
struct rpc_operation {
  using result = bool;
  void start(GrpcContext&, void* tag) { function(*rpc, tag); }
  [[nodiscard]] bool proceed(GrpcContext&, void* tag, bool ok) {
    if (proceeded) return false;
    success = ok;
    proceeded = true;
    return !ok && finishes && rpc->begin_finish(tag);
  }
  [[nodiscard]] bool take(bool) const noexcept { return success; }
  void cancel() { rpc->cancel(); }
  Rpc* rpc;
  bool finishes;
  Function function;
  bool success = false;
  bool proceeded = false;
};

// Ends the writes and reads the status.
template <class Rpc>
struct finish_rpc {
  using result = bool;
  void start(GrpcContext& context, void* tag) {
    if (rpc->finished_)
      at_once.Set(context.get_completion_queue(), std::chrono::system_clock::time_point(), tag);
    else next(tag);
  }
  [[nodiscard]] bool proceed(GrpcContext&, void* tag, bool) {
    if (finishing || rpc->finished_) return false;
    next(tag);
    return true;
  }
  [[nodiscard]] bool take(bool) const { return rpc->ok(); }
  void cancel() { rpc->cancel(); }
  void next(void* tag) {
    finishing = !rpc->begin_writes_done(tag);
    if (finishing) rpc->begin_finish(tag);
  }
  Rpc* rpc;
  bool finishing = false;
  grpc::Alarm at_once{};  // where the status was read before
};

template <auto Function>
consteval RPCType rpc_type_of() {
  switch (client_rpc_traits<Function>::type) {
    case ClientRPCType::UNARY:
    case ClientRPCType::GENERIC_UNARY: return RPCType::CLIENT_UNARY;
    case ClientRPCType::CLIENT_STREAMING: return RPCType::CLIENT_CLIENT_STREAMING;
    case ClientRPCType::SERVER_STREAMING: return RPCType::CLIENT_SERVER_STREAMING;
    default: return RPCType::CLIENT_BIDIRECTIONAL_STREAMING;
  }
}

}  // namespace internal

/// An RPC of a client, as in version 2: `Function` is `&Stub::PrepareAsyncX`, CLIENT_GENERIC_UNARY_RPC or
/// CLIENT_GENERIC_STREAMING_RPC. The functions take a completion token; cancellation, and an RPC that is destroyed before
/// its end, cancel the call. What they take by reference, among it the ClientContext, must outlive the RPC. RPCs are
/// requested on a GrpcContext or an executor of one. `Type` follows from `Function`.
template <auto Function, class Executor = GrpcExecutor, RPCType Type = internal::rpc_type_of<Function>()>
class RPC {
  using traits = internal::client_rpc_traits<Function>;
  using responder_type = typename traits::Responder;
  static constexpr ClientRPCType type = traits::type;
  static constexpr bool is_generic =
      type == ClientRPCType::GENERIC_UNARY || type == ClientRPCType::GENERIC_STREAMING;
  static constexpr bool is_unary = Type == RPCType::CLIENT_UNARY;
  static constexpr bool reads =
      Type == RPCType::CLIENT_SERVER_STREAMING || Type == RPCType::CLIENT_BIDIRECTIONAL_STREAMING;
  static constexpr bool writes =
      Type == RPCType::CLIENT_CLIENT_STREAMING || Type == RPCType::CLIENT_BIDIRECTIONAL_STREAMING;
  using default_token = internal::default_token_of<Executor>;

 public:
  static constexpr ClientRPCType TYPE = type;
  using Stub = typename traits::Stub;
  using Request = typename traits::Request;
  using Response = typename traits::Response;
  using executor_type = Executor;
  template <class OtherExecutor>
  struct rebind_executor {
    using other = RPC<Function, OtherExecutor>;
  };

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

  /// A whole unary call. Signature: `void(grpc::Status)`.
  template <class On, class AnyStub, class Token = default_token>
    requires(type == ClientRPCType::UNARY)
  static auto request(On&& on, AnyStub& stub, grpc::ClientContext& client_context, const Request& message,
                      Response& response, Token&& token = Token()) {
    return ClientRPC<Function, Executor>::request(on, stub, client_context, message, response,
                                                  std::forward<Token>(token));
  }
  /// The same of a generic RPC: `method` is the path, "/package.Service/Method".
  template <class On, class Token = default_token>
    requires(type == ClientRPCType::GENERIC_UNARY)
  static auto request(On&& on, const std::string& method, Stub& stub, grpc::ClientContext& client_context,
                      const Request& message, Response& response, Token&& token = Token()) {
    return ClientRPC<Function, Executor>::request(on, method, stub, client_context, message, response,
                                                  std::forward<Token>(token));
  }
  /// Starts a stream. Signature: `void(RPC)`; the RPC is not ok() if the call could not be started.
  template <class On, class AnyStub, class Token = default_token>
    requires(type == ClientRPCType::SERVER_STREAMING)
  static auto request(On&& on, AnyStub& stub, grpc::ClientContext& client_context, const Request& message,
                      Token&& token = Token()) {
    return start(
        on, client_context,
        [s = &internal::dereferenced(stub), m = &message](RPC& r, grpc::CompletionQueue* queue, void* tag) {
          r.responder_ = traits::call(*s, r.client_context_, *m, queue);
          r.responder_->StartCall(tag);
        },
        std::forward<Token>(token));
  }
  template <class On, class AnyStub, class Token = default_token>
    requires(type == ClientRPCType::CLIENT_STREAMING)
  static auto request(On&& on, AnyStub& stub, grpc::ClientContext& client_context, Response& response,
                      Token&& token = Token()) {
    return start(
        on, client_context,
        [s = &internal::dereferenced(stub), m = &response](RPC& r, grpc::CompletionQueue* queue, void* tag) {
          r.responder_ = traits::call(*s, r.client_context_, m, queue);
          r.responder_->StartCall(tag);
        },
        std::forward<Token>(token));
  }
  template <class On, class AnyStub, class Token = default_token>
    requires(type == ClientRPCType::BIDIRECTIONAL_STREAMING)
  static auto request(On&& on, AnyStub& stub, grpc::ClientContext& client_context, Token&& token = Token()) {
    return start(
        on, client_context,
        [s = &internal::dereferenced(stub)](RPC& r, grpc::CompletionQueue* queue, void* tag) {
          r.responder_ = traits::call(*s, r.client_context_, queue);
          r.responder_->StartCall(tag);
        },
        std::forward<Token>(token));
  }

  template <class On, class Token = default_token>
    requires(type == ClientRPCType::GENERIC_STREAMING)
  static auto request(On&& on, const std::string& method, Stub& stub, grpc::ClientContext& client_context,
                      Token&& token = Token()) {
    return start(
        on, client_context,
        [method, s = &stub](RPC& r, grpc::CompletionQueue* queue, void* tag) {
          r.responder_ = s->PrepareCall(r.client_context_, method, queue);
          r.responder_->StartCall(tag);
        },
        std::forward<Token>(token));
  }

  RPC(RPC&& other) noexcept
      : executor_(other.executor_),
        client_context_(other.client_context_),
        responder_(std::move(other.responder_)),
        status_(std::move(other.status_)),
        finished_(other.finished_),
        ended_writes_(other.ended_writes_) {}
  RPC& operator=(RPC&&) = delete;
  ~RPC() {
    if (responder_ && !finished_) client_context_->TryCancel();
  }

  /// Returns whether the status, as far as it is known, is OK.
  [[nodiscard]] bool ok() const noexcept { return status_.ok(); }
  /// The status, after finish() or the operation that has failed.
  [[nodiscard]] const grpc::Status& status() const noexcept { return status_; }
  [[nodiscard]] grpc::StatusCode status_code() const noexcept { return status_.error_code(); }
  [[nodiscard]] bool is_writes_done() const noexcept { return ended_writes_; }
  [[nodiscard]] executor_type get_executor() const noexcept { return executor_; }
  [[nodiscard]] grpc::ClientContext& context() noexcept { return *client_context_; }
  /// The reader or writer of grpc++.
  [[nodiscard]] responder_type& responder() noexcept { return *responder_; }
  /// Cancels the RPC, from any thread.
  void cancel() noexcept { client_context_->TryCancel(); }

  // --- Signature: `void(bool)`, with false if the RPC has ended.

  template <class Token = default_token>
    requires(!is_unary)
  auto read_initial_metadata(Token&& token = Token()) {
    return operation([](RPC& r, void* tag) { r.responder_->ReadInitialMetadata(tag); }, true,
                     std::forward<Token>(token));
  }
  /// After false of a server-streaming RPC, its status is known. That of a bidirectional one needs finish().
  template <class Token = default_token>
    requires reads
  auto read(Response& response, Token&& token = Token()) {
    return operation([m = &response](RPC& r, void* tag) { r.responder_->Read(m, tag); },
                     type == ClientRPCType::SERVER_STREAMING, std::forward<Token>(token));
  }
  /// After false, the status is known.
  template <class Token = default_token>
    requires(writes && !internal::is_write_options<Token>)
  auto write(const Request& message, Token&& token = Token()) {
    return write(message, grpc::WriteOptions(), std::forward<Token>(token));
  }
  template <class Token = default_token>
    requires writes
  auto write(const Request& message, grpc::WriteOptions options, Token&& token = Token()) {
    return operation(
        [m = &message, options](RPC& r, void* tag) {
          if (options.is_last_message()) r.ended_writes_ = true;
          r.responder_->Write(*m, options, tag);
        },
        type == ClientRPCType::CLIENT_STREAMING, std::forward<Token>(token));
  }
  template <class Token = default_token>
    requires writes
  auto writes_done(Token&& token = Token()) {
    return operation(
        [](RPC& r, void* tag) {
          r.ended_writes_ = true;
          r.responder_->WritesDone(tag);
        },
        false, std::forward<Token>(token));
  }
  /// Ends the writes, if that was not done, and reads the status. True if it is OK.
  template <class Token = default_token>
    requires writes
  auto finish(Token&& token = Token()) {
    return internal::initiate(executor_, internal::finish_rpc<RPC>{this}, std::forward<Token>(token));
  }

 private:
  template <class Rpc, class Make>
  friend struct internal::start_rpc;
  template <class Rpc, class F>
  friend struct internal::rpc_operation;
  template <class Rpc>
  friend struct internal::finish_rpc;

  RPC(const Executor& executor, grpc::ClientContext& client_context)
      : executor_(executor), client_context_(&client_context) {}

  template <class On, class Make, class Token>
  static auto start(On& on, grpc::ClientContext& client_context, Make make, Token&& token) {
    const Executor executor = [&] {
      if constexpr (std::derived_from<On, GrpcContext>) return Executor(on.get_executor());
      else return Executor(on);
    }();
    return internal::initiate(executor,
                              internal::start_rpc<RPC, Make>{RPC(executor, client_context), std::move(make)},
                              std::forward<Token>(token));
  }
  template <class F, class Token>
  auto operation(F function, bool finishes, Token&& token) {
    return internal::initiate(executor_, internal::rpc_operation<RPC, F>{this, finishes, std::move(function)},
                              std::forward<Token>(token));
  }
  // Whether it was not finished before.
  bool begin_finish(void* tag) {
    if (std::exchange(finished_, true)) return false;
    responder_->Finish(&status_, tag);
    return true;
  }
  bool begin_writes_done(void* tag) {
    if constexpr (writes) {
      if (std::exchange(ended_writes_, true)) return false;
      responder_->WritesDone(tag);
      return true;
    } else {
      return false;
    }
  }

  Executor executor_;
  grpc::ClientContext* client_context_;
  std::unique_ptr<responder_type> responder_;
  grpc::Status status_;
  bool finished_ = false;
  bool ended_writes_ = false;
};

}  // namespace agrpc::inline CORACLE_ASIO
