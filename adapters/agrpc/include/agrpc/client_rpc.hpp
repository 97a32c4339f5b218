// client_rpc: RPCs of a client, as in version 3 of asio-grpc.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/grpc_context.hpp"
#include "agrpc/grpc_executor.hpp"
#include "agrpc/impl/client_method.hpp"
#include "agrpc/impl/initiate.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/method_name.hpp"
#include "agrpc/impl/responder.hpp"
#include "agrpc/rpc_type.hpp"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

// What a ClientRPC knows of its method.
template <auto Function>
struct client_rpc_traits : client_method<decltype(Function)> {
  using base = client_method<decltype(Function)>;
  static constexpr bool prepared = is_prepared<Function> || base::type != ClientRPCType::UNARY;
  static std::string_view service_name() noexcept { return service_name_of<Function>::value; }
  static std::string_view method_name() noexcept { return internal::method_name_of<Function>::value; }
  template <class Stub, class... Args>
  static auto call(Stub& stub, Args&&... args) {
    return (stub.*Function)(std::forward<Args>(args)...);
  }
};
template <>
struct client_rpc_traits<ClientRPCType::GENERIC_UNARY> {
  using Stub = grpc::GenericStub;
  using Request = grpc::ByteBuffer;
  using Response = grpc::ByteBuffer;
  using Responder = grpc::GenericClientAsyncResponseReader;
  static constexpr ClientRPCType type = ClientRPCType::GENERIC_UNARY;
};
template <>
struct client_rpc_traits<ClientRPCType::GENERIC_STREAMING> {
  using Stub = grpc::GenericStub;
  using Request = grpc::ByteBuffer;
  using Response = grpc::ByteBuffer;
  using Responder = grpc::GenericClientAsyncReaderWriter;
  static constexpr ClientRPCType type = ClientRPCType::GENERIC_STREAMING;
};

// An operation of an RPC that one event ends.
template <class Rpc, class Function>
struct rpc_event {
  using result = bool;
  void start(GrpcContext& context, void* tag) { function(*rpc, context, tag); }
  [[nodiscard]] static bool take(bool ok) noexcept { return ok; }
  void cancel() { rpc->cancel(); }
  Rpc* rpc;
  Function function;
};

// A unary call of which only the outcome matters. `Make` starts it and returns the reader.
template <class Make, class Responder, class Response>
struct whole_unary_call {
  using result = grpc::Status;
  void start(GrpcContext& context, void* tag) {
    reader = make(context.get_completion_queue());
    reader->Finish(response, &status, tag);
  }
  [[nodiscard]] grpc::Status take(bool) { return std::move(status); }
  void cancel() { client_context->TryCancel(); }
  Make make;
  grpc::ClientContext* client_context;
  Response* response;
  std::unique_ptr<Responder> reader{};
  grpc::Status status{};
};

// Reads the status, after the end of the writes where that was not yet sent.
template <class Rpc>
struct finish_stream {
  using result = grpc::Status;
  void start(GrpcContext&, void* tag) { next(tag); }
  [[nodiscard]] bool proceed(GrpcContext&, void* tag, bool) {
    if (finishing) return false;
    next(tag);
    return true;
  }
  [[nodiscard]] grpc::Status take(bool) { return std::move(status); }
  void cancel() { rpc->cancel(); }
  void next(void* tag) {
    finishing = !rpc->send_end_of_writes(tag);
    if (finishing) rpc->read_status(status, tag);
  }
  Rpc* rpc;
  bool finishing = false;
  grpc::Status status{};
};
template <class Rpc, class Response>
struct finish_unary {
  using result = grpc::Status;
  void start(GrpcContext&, void* tag) { rpc->read_status(*response, status, tag); }
  [[nodiscard]] grpc::Status take(bool) { return std::move(status); }
  void cancel() { rpc->cancel(); }
  Rpc* rpc;
  Response* response;
  grpc::Status status{};
};

}  // namespace internal

/// An RPC of a client. `Function` is a member function of generated code, `&Stub::PrepareAsyncX` (or
/// `&StubInterface::PrepareAsyncX`; `&Stub::AsyncX` is accepted, too), or the type of a generic RPC.
///
/// The functions below start one operation each, and take a completion token; the default is
/// asio::use_awaitable. Operations complete in the GrpcContext of the executor, and their handlers are called on
/// their associated executor, by default in that context. What a function takes by reference must outlive the
/// operation, and the RPC must outlive its operations. One read and one write may be in progress at the same time.
///
/// Cancellation of an operation, `terminal` or `partial`, cancels the RPC. An RPC that is destroyed before finish()
/// has completed is cancelled.
template <auto Function, class Executor = GrpcExecutor>
class ClientRPC {
  using traits = internal::client_rpc_traits<Function>;
  using responder_type = typename traits::Responder;
  static constexpr ClientRPCType type = traits::type;
  static constexpr bool is_generic =
      type == ClientRPCType::GENERIC_UNARY || type == ClientRPCType::GENERIC_STREAMING;
  static constexpr bool is_unary = type == ClientRPCType::UNARY || type == ClientRPCType::GENERIC_UNARY;
  static constexpr bool reads = type == ClientRPCType::SERVER_STREAMING ||
                                type == ClientRPCType::BIDIRECTIONAL_STREAMING ||
                                type == ClientRPCType::GENERIC_STREAMING;
  static constexpr bool writes = type == ClientRPCType::CLIENT_STREAMING ||
                                 type == ClientRPCType::BIDIRECTIONAL_STREAMING ||
                                 type == ClientRPCType::GENERIC_STREAMING;
  static constexpr bool starts_itself = [] {  // &Stub::AsyncX of a stream
    if constexpr (is_generic) return false;
    else return traits::takes_tag;
  }();
  using default_token = internal::default_token_of<Executor>;

 public:
  static constexpr ClientRPCType TYPE = type;
  using Stub = typename traits::Stub;
  using Request = typename traits::Request;
  using Response = typename traits::Response;
  using executor_type = Executor;
  template <class OtherExecutor>
  struct rebind_executor {
    using other = ClientRPC<Function, OtherExecutor>;
  };

  explicit ClientRPC(GrpcContext& context) : executor_(context.get_executor()) {}
  explicit ClientRPC(const Executor& executor) : executor_(executor) {}
  /// With a client context that the caller has made, such as by grpc::ClientContext::FromServerContext().
  ClientRPC(const Executor& executor, std::unique_ptr<grpc::ClientContext> context)
      : executor_(executor), context_(std::move(context)) {}
  ClientRPC(GrpcContext& grpc_context, std::unique_ptr<grpc::ClientContext> context)
      : executor_(grpc_context.get_executor()), context_(std::move(context)) {}
  /// With a function that is called with the client context, such as one that sets the deadline.
  template <std::invocable<grpc::ClientContext&> Init>
  ClientRPC(const Executor& executor, Init&& init) : executor_(executor) {
    std::invoke(std::forward<Init>(init), *context_);
  }
  template <std::invocable<grpc::ClientContext&> Init>
  ClientRPC(GrpcContext& grpc_context, Init&& init) : executor_(grpc_context.get_executor()) {
    std::invoke(std::forward<Init>(init), *context_);
  }
  ClientRPC(ClientRPC&&) = delete;
  ~ClientRPC() {
    if (responder_ && !finished_) context_->TryCancel();
  }

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

  /// The context, for metadata and the deadline, before start(), which does not complete with
  /// corked initial metadata.
  [[nodiscard]] grpc::ClientContext& context() noexcept { return *context_; }
  [[nodiscard]] const grpc::ClientContext& context() const noexcept { return *context_; }
  [[nodiscard]] executor_type get_executor() const noexcept { return executor_; }
  [[nodiscard]] executor_type get_scheduler() const noexcept { return executor_; }
  /// Cancels the RPC, from any thread.
  void cancel() noexcept { context_->TryCancel(); }

  // --- unary RPCs

  /// A whole unary call. Signature: `void(grpc::Status)`. `on` is a GrpcContext or an executor of one.
  template <class On, class AnyStub, class Token = default_token>
    requires(type == ClientRPCType::UNARY)
  static auto request(On&& on, AnyStub& stub, grpc::ClientContext& client_context, const Request& message,
                      Response& response, Token&& token = Token()) {
    auto make = [s = &internal::dereferenced(stub), c = &client_context,
                 m = &message](grpc::CompletionQueue* queue) {
      auto reader = traits::call(*s, c, *m, queue);
      if constexpr (traits::prepared) reader->StartCall();
      return reader;
    };
    return whole_call(on, client_context, response, std::move(make), std::forward<Token>(token));
  }
  /// The same of a generic RPC: `method` is the path, "/package.Service/Method".
  template <class On, class Token = default_token>
    requires(type == ClientRPCType::GENERIC_UNARY)
  static auto request(On&& on, const std::string& method, Stub& stub, grpc::ClientContext& client_context,
                      const grpc::ByteBuffer& message, grpc::ByteBuffer& response, Token&& token = Token()) {
    auto make = [method, s = &stub, c = &client_context, m = &message](grpc::CompletionQueue* queue) {
      auto reader = s->PrepareUnaryCall(c, method, *m, queue);
      reader->StartCall();
      return reader;
    };
    return whole_call(on, client_context, response, std::move(make), std::forward<Token>(token));
  }
  /// Starts a unary call of which more than the outcome is of interest; it needs no token. finish() follows.
  template <class AnyStub>
    requires(type == ClientRPCType::UNARY)
  void start(AnyStub& stub, const Request& message) {
    responder_ = traits::call(internal::dereferenced(stub), context_.get(), message, queue());
    if constexpr (traits::prepared) responder_->StartCall();
  }
  void start(const std::string& method, Stub& stub, const grpc::ByteBuffer& message)
    requires(type == ClientRPCType::GENERIC_UNARY)
  {
    responder_ = stub.PrepareUnaryCall(context_.get(), method, message, queue());
    responder_->StartCall();
  }
  /// Waits for the response. Signature: `void(grpc::Status)`.
  template <class Token = default_token>
    requires is_unary
  auto finish(Response& response, Token&& token = Token()) {
    return internal::initiate(executor_, internal::finish_unary<ClientRPC, Response>{this, &response},
                              std::forward<Token>(token));
  }

  // --- streaming RPCs. Signature: `void(bool)`, with false if the RPC has ended; finish() tells how.

  template <class AnyStub, class Token = default_token>
    requires(type == ClientRPCType::SERVER_STREAMING)
  auto start(AnyStub& stub, const Request& message, Token&& token = Token()) {
    return start_stream([s = &internal::dereferenced(stub), m = &message](
                            grpc::ClientContext* c, grpc::CompletionQueue* q,
                            auto... tag) { return traits::call(*s, c, *m, q, tag...); },
                        std::forward<Token>(token));
  }
  /// `response` is filled when finish() completes.
  template <class AnyStub, class Token = default_token>
    requires(type == ClientRPCType::CLIENT_STREAMING)
  auto start(AnyStub& stub, Response& response, Token&& token = Token()) {
    return start_stream([s = &internal::dereferenced(stub), m = &response](
                            grpc::ClientContext* c, grpc::CompletionQueue* q,
                            auto... tag) { return traits::call(*s, c, m, q, tag...); },
                        std::forward<Token>(token));
  }
  template <class AnyStub, class Token = default_token>
    requires(type == ClientRPCType::BIDIRECTIONAL_STREAMING)
  auto start(AnyStub& stub, Token&& token = Token()) {
    return start_stream(
        [s = &internal::dereferenced(stub)](grpc::ClientContext* c, grpc::CompletionQueue* q, auto... tag) {
          return traits::call(*s, c, q, tag...);
        },
        std::forward<Token>(token));
  }
  template <class Token = default_token>
    requires(type == ClientRPCType::GENERIC_STREAMING)
  auto start(const std::string& method, Stub& stub, Token&& token = Token()) {
    return start_stream(
        [method, s = &stub](grpc::ClientContext* c, grpc::CompletionQueue* q) {
          return s->PrepareCall(c, method, q);
        },
        std::forward<Token>(token));
  }
  template <class Token = default_token>
  auto read_initial_metadata(Token&& token = Token()) {
    return event([](ClientRPC& r, GrpcContext&, void* tag) { r.responder_->ReadInitialMetadata(tag); },
                 std::forward<Token>(token));
  }
  template <class Token = default_token>
    requires reads
  auto read(Response& response, Token&& token = Token()) {
    return event([m = &response](ClientRPC& r, GrpcContext&, void* tag) { r.responder_->Read(m, tag); },
                 std::forward<Token>(token));
  }
  template <class Token = default_token>
    requires(writes && !std::same_as<std::remove_cvref_t<Token>, grpc::WriteOptions>)
  auto write(const Request& message, Token&& token = Token()) {
    return write(message, grpc::WriteOptions(), std::forward<Token>(token));
  }
  /// With options: set_last_message() ends the writes.
  template <class Token = default_token>
    requires writes
  auto write(const Request& message, grpc::WriteOptions options, Token&& token = Token()) {
    return event(
        [m = &message, options](ClientRPC& r, GrpcContext&, void* tag) {
          if (options.is_last_message()) r.ended_writes_ = true;
          r.responder_->Write(*m, options, tag);
        },
        std::forward<Token>(token));
  }
  template <class Token = default_token>
    requires writes
  auto writes_done(Token&& token = Token()) {
    return event(
        [](ClientRPC& r, GrpcContext&, void* tag) {
          r.ended_writes_ = true;
          r.responder_->WritesDone(tag);
        },
        std::forward<Token>(token));
  }
  /// Waits for the status, after writes_done() where it was not called. Signature: `void(grpc::Status)`.
  template <class Token = default_token>
    requires(!is_unary)
  auto finish(Token&& token = Token()) {
    return internal::initiate(executor_, internal::finish_stream<ClientRPC>{this},
                              std::forward<Token>(token));
  }

 private:
  template <class Rpc>
  friend struct internal::finish_stream;
  template <class Rpc, class Message>
  friend struct internal::finish_unary;

  [[nodiscard]] grpc::CompletionQueue* queue() const {
    return internal::context_of(executor_).get_completion_queue();
  }

  template <class On, class Make, class Token>
  static auto whole_call(On& on, grpc::ClientContext& client_context, Response& response, Make make,
                         Token&& token) {
    internal::whole_unary_call<Make, responder_type, Response> call{std::move(make), &client_context,
                                                                    &response};
    if constexpr (std::derived_from<On, GrpcContext>)
      return internal::initiate(on.get_executor(), std::move(call), std::forward<Token>(token));
    else return internal::initiate(on, std::move(call), std::forward<Token>(token));
  }
  template <class F, class Token>
  auto event(F function, Token&& token) {
    return internal::initiate(executor_, internal::rpc_event<ClientRPC, F>{this, std::move(function)},
                              std::forward<Token>(token));
  }
  template <class Make, class Token>
  auto start_stream(Make make, Token&& token) {
    return event(
        [make = std::move(make)](ClientRPC& r, GrpcContext& context, void* tag) {
          if constexpr (starts_itself) {
            r.responder_ = make(r.context_.get(), context.get_completion_queue(), tag);
          } else {
            r.responder_ = make(r.context_.get(), context.get_completion_queue());
            r.responder_->StartCall(tag);
          }
        },
        std::forward<Token>(token));
  }
  // Whether it has started WritesDone().
  bool send_end_of_writes(void* tag) {
    if constexpr (writes) {
      if (std::exchange(ended_writes_, true)) return false;
      responder_->WritesDone(tag);
      return true;
    } else {
      return false;
    }
  }
  void read_status(grpc::Status& status, void* tag) {
    finished_ = true;
    responder_->Finish(&status, tag);
  }
  void read_status(Response& response, grpc::Status& status, void* tag) {
    finished_ = true;
    responder_->Finish(&response, &status, tag);
  }

  Executor executor_;
  std::unique_ptr<grpc::ClientContext> context_ = std::make_unique<grpc::ClientContext>();
  std::unique_ptr<responder_type> responder_;
  bool ended_writes_ = false;
  bool finished_ = false;
};

/// A unary RPC whose messages are bytes, and whose method is known at run time.
using GenericUnaryClientRPC = ClientRPC<ClientRPCType::GENERIC_UNARY>;
/// The same of streams.
using GenericStreamingClientRPC = ClientRPC<ClientRPCType::GENERIC_STREAMING>;

}  // namespace agrpc::inline CORACLE_ASIO
