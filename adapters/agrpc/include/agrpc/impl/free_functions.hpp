// free_functions: the operations of responders of grpc++ with completion tokens.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/impl/client_method.hpp"
#include "agrpc/impl/initiate.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/responder.hpp"
#include "agrpc/read.hpp"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

template <class T>
concept is_status = std::same_as<std::remove_cvref_t<T>, grpc::Status>;
template <class T>
concept is_write_options = std::same_as<std::remove_cvref_t<T>, grpc::WriteOptions>;
template <class T>
concept is_context_of_client = std::same_as<std::remove_cvref_t<T>, grpc::ClientContext>;

// The type of the messages that a responder writes, for messages that are written as `{}`.
template <class Responder>
struct written_message {};
template <class W>
struct written_message<grpc::ServerAsyncResponseWriter<W>> {
  using type = W;
};
template <class W, class R>
struct written_message<grpc::ServerAsyncReader<W, R>> {
  using type = W;
};
template <class W>
struct written_message<grpc::ServerAsyncWriter<W>> {
  using type = W;
};
template <class W, class R>
struct written_message<grpc::ServerAsyncReaderWriter<W, R>> {
  using type = W;
};
template <class W>
struct written_message<grpc::ClientAsyncWriter<W>> {
  using type = W;
};
template <class W>
struct written_message<grpc::ClientAsyncWriterInterface<W>> {
  using type = W;
};
template <class W, class R>
struct written_message<grpc::ClientAsyncReaderWriter<W, R>> {
  using type = W;
};
template <class W, class R>
struct written_message<grpc::ClientAsyncReaderWriterInterface<W, R>> {
  using type = W;
};
template <class Responder>
using written_by = typename written_message<std::remove_cv_t<dereferenced_t<Responder>>>::type;

// Starts a streaming call and puts its responder where the caller has a place for it.
template <class Make, class Responder>
struct start_call {
  using result = bool;
  void start(GrpcContext& context, void* tag) { make(context.get_completion_queue(), *responder, tag); }
  [[nodiscard]] static bool take(bool ok) noexcept { return ok; }
  Make make;
  std::unique_ptr<Responder>* responder;
};
// The same with a responder that the completion passes on.
template <class Make, class Responder>
struct start_call_and_return {
  using result = std::pair<std::unique_ptr<Responder>, bool>;
  void start(GrpcContext& context, void* tag) { make(context.get_completion_queue(), responder, tag); }
  [[nodiscard]] result take(bool ok) noexcept { return {std::move(responder), ok}; }
  Make make;
  std::unique_ptr<Responder> responder{};
};
template <class Responder, class Make, class Token>
auto start_into(std::unique_ptr<Responder>& responder, Make make, Token&& token) {
  return initiate_on_token(start_call<Make, Responder>{std::move(make), &responder},
                           std::forward<Token>(token));
}
template <class Responder, class Make, class Token>
auto start_and_return(Make make, Token&& token) {
  return initiate_on_token(start_call_and_return<Make, Responder>{std::move(make)},
                           std::forward<Token>(token));
}

// Calls a function of a stub: AsyncX(..., queue, tag), or PrepareAsyncX(..., queue) and StartCall(tag).
template <class Function, class Stub, class... Args>
auto call_stub(Function function, Stub& stub, grpc::CompletionQueue* queue, void* tag, Args&&... args) {
  if constexpr (std::is_invocable_v<Function, Stub&, Args..., grpc::CompletionQueue*, void*>) {
    return (stub.*function)(std::forward<Args>(args)..., queue, tag);
  } else {
    auto responder = (stub.*function)(std::forward<Args>(args)..., queue);
    responder->StartCall(tag);
    return responder;
  }
}

template <class Function>
concept client_function = requires { typename client_method<Function>::Responder; };
template <class Function, ClientRPCType Type>
concept client_function_of = client_function<Function> && client_method<Function>::type == Type;

// A step that requests the next RPC of a server.
template <class Function>
struct request_rpc {
  using result = bool;
  void start(GrpcContext& context, void* tag) {
    grpc::ServerCompletionQueue* const queue = context.get_server_completion_queue();
    function(queue, tag);
  }
  [[nodiscard]] static bool take(bool ok) noexcept { return ok; }
  Function function;
};
template <class Function, class Token>
auto request_on_token(Function function, Token&& token) {
  return initiate_on_token(request_rpc<Function>{std::move(function)}, std::forward<Token>(token));
}

template <class Service, class Request, class Responder>
using unary_request_function = void (Service::*)(grpc::ServerContext*, Request*, Responder*,
                                                 grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*);
template <class Service, class Responder>
using stream_request_function = void (Service::*)(grpc::ServerContext*, Responder*, grpc::CompletionQueue*,
                                                  grpc::ServerCompletionQueue*, void*);

struct request_function {
  // --- the client's side

  // Unary: returns the reader at once.
  template <class Function, class Stub, class Request>
    requires client_function_of<Function, ClientRPCType::UNARY>
  auto operator()(Function function, Stub& stub, grpc::ClientContext& client_context, const Request& request,
                  GrpcContext& grpc_context) const {
    return (dereferenced(stub).*function)(&client_context, request, grpc_context.get_completion_queue());
  }
  // Server streaming.
  template <class Function, class Stub, class Request, class Responder, class Token = DefaultCompletionToken>
    requires client_function_of<Function, ClientRPCType::SERVER_STREAMING>
  auto operator()(Function function, Stub& stub, grpc::ClientContext& client_context, const Request& request,
                  std::unique_ptr<Responder>& reader, Token&& token = Token()) const {
    return start_into(reader, server_streaming(function, stub, client_context, request),
                      std::forward<Token>(token));
  }
  template <class Function, class Stub, class Request, class Token = DefaultCompletionToken>
    requires client_function_of<Function, ClientRPCType::SERVER_STREAMING>
  auto operator()(Function function, Stub& stub, grpc::ClientContext& client_context, const Request& request,
                  Token&& token = Token()) const {
    return start_and_return<typename client_method<Function>::Responder>(
        server_streaming(function, stub, client_context, request), std::forward<Token>(token));
  }
  // Client streaming.
  template <class Function, class Stub, class Responder, class Response, class Token = DefaultCompletionToken>
    requires client_function_of<Function, ClientRPCType::CLIENT_STREAMING>
  auto operator()(Function function, Stub& stub, grpc::ClientContext& client_context,
                  std::unique_ptr<Responder>& writer, Response& response, Token&& token = Token()) const {
    return start_into(writer, client_streaming(function, stub, client_context, response),
                      std::forward<Token>(token));
  }
  template <class Function, class Stub, class Response, class Token = DefaultCompletionToken>
    requires client_function_of<Function, ClientRPCType::CLIENT_STREAMING>
  auto operator()(Function function, Stub& stub, grpc::ClientContext& client_context, Response& response,
                  Token&& token = Token()) const {
    return start_and_return<typename client_method<Function>::Responder>(
        client_streaming(function, stub, client_context, response), std::forward<Token>(token));
  }
  // Both.
  template <class Function, class Stub, class Responder, class Token = DefaultCompletionToken>
    requires client_function_of<Function, ClientRPCType::BIDIRECTIONAL_STREAMING>
  auto operator()(Function function, Stub& stub, grpc::ClientContext& client_context,
                  std::unique_ptr<Responder>& reader_writer, Token&& token = Token()) const {
    return start_into(reader_writer, bidirectional(function, stub, client_context),
                      std::forward<Token>(token));
  }
  template <class Function, class Stub, class Token = DefaultCompletionToken>
    requires client_function_of<Function, ClientRPCType::BIDIRECTIONAL_STREAMING>
  auto operator()(Function function, Stub& stub, grpc::ClientContext& client_context,
                  Token&& token = Token()) const {
    return start_and_return<typename client_method<Function>::Responder>(
        bidirectional(function, stub, client_context), std::forward<Token>(token));
  }
  // Generic.
  auto operator()(const std::string& method, grpc::GenericStub& stub, grpc::ClientContext& client_context,
                  const grpc::ByteBuffer& request, GrpcContext& grpc_context) const {
    auto reader =
        stub.PrepareUnaryCall(&client_context, method, request, grpc_context.get_completion_queue());
    reader->StartCall();
    return reader;
  }
  template <class Token = DefaultCompletionToken>
  auto operator()(const std::string& method, grpc::GenericStub& stub, grpc::ClientContext& client_context,
                  std::unique_ptr<grpc::GenericClientAsyncReaderWriter>& reader_writer,
                  Token&& token = Token()) const {
    return start_into(
        reader_writer,
        [method, s = &stub, c = &client_context](grpc::CompletionQueue* queue, auto& responder, void* tag) {
          responder = s->PrepareCall(c, method, queue);
          responder->StartCall(tag);
        },
        std::forward<Token>(token));
  }

  // --- the server's side

  template <class Implementation, class Service, class Request, class Responder,
            class Token = DefaultCompletionToken>
  auto operator()(unary_request_function<Implementation, Request, Responder> function, Service& service,
                  grpc::ServerContext& server_context, Request& request, Responder& responder,
                  Token&& token = Token()) const {
    Implementation& implementation = service;
    return request_on_token(
        [function, s = &implementation, c = &server_context, m = &request, r = &responder](
            grpc::ServerCompletionQueue* queue, void* tag) { (s->*function)(c, m, r, queue, queue, tag); },
        std::forward<Token>(token));
  }
  template <class Implementation, class Service, class Responder, class Token = DefaultCompletionToken>
  auto operator()(stream_request_function<Implementation, Responder> function, Service& service,
                  grpc::ServerContext& server_context, Responder& responder, Token&& token = Token()) const {
    Implementation& implementation = service;
    return request_on_token(
        [function, s = &implementation, c = &server_context, r = &responder](
            grpc::ServerCompletionQueue* queue, void* tag) { (s->*function)(c, r, queue, queue, tag); },
        std::forward<Token>(token));
  }
  template <class Token = DefaultCompletionToken>
  auto operator()(grpc::AsyncGenericService& service, grpc::GenericServerContext& server_context,
                  grpc::GenericServerAsyncReaderWriter& reader_writer, Token&& token = Token()) const {
    return request_on_token(
        [s = &service, c = &server_context, r = &reader_writer](
            grpc::ServerCompletionQueue* queue, void* tag) { s->RequestCall(c, r, queue, queue, tag); },
        std::forward<Token>(token));
  }

 private:
  template <class Function, class Stub, class Request>
  static auto server_streaming(Function function, Stub& stub, grpc::ClientContext& client_context,
                               const Request& request) {
    return [function, s = &dereferenced(stub), c = &client_context, m = &request](
               grpc::CompletionQueue* queue, auto& responder, void* tag) {
      responder = call_stub(function, *s, queue, tag, c, *m);
    };
  }
  template <class Function, class Stub, class Response>
  static auto client_streaming(Function function, Stub& stub, grpc::ClientContext& client_context,
                               Response& response) {
    return [function, s = &dereferenced(stub), c = &client_context, m = &response](
               grpc::CompletionQueue* queue, auto& responder, void* tag) {
      responder = call_stub(function, *s, queue, tag, c, m);
    };
  }
  template <class Function, class Stub>
  static auto bidirectional(Function function, Stub& stub, grpc::ClientContext& client_context) {
    return [function, s = &dereferenced(stub), c = &client_context](grpc::CompletionQueue* queue,
                                                                    auto& responder, void* tag) {
      responder = call_stub(function, *s, queue, tag, c);
    };
  }
};

struct write_function {
  template <class Responder, class Message = written_by<Responder>, class Token = DefaultCompletionToken>
    requires(!io_object<Responder> && !is_write_options<Token>)
  auto operator()(Responder& responder, const Message& message, Token&& token = Token()) const {
    return start_on_token([to = &dereferenced(responder), m = &message](void* tag) { to->Write(*m, tag); },
                          std::forward<Token>(token));
  }
  template <class Responder, class Message = written_by<Responder>, class Token = DefaultCompletionToken>
    requires(!io_object<Responder>)
  auto operator()(Responder& responder, const Message& message, grpc::WriteOptions options,
                  Token&& token = Token()) const {
    return start_on_token(
        [to = &dereferenced(responder), m = &message, options](void* tag) { to->Write(*m, options, tag); },
        std::forward<Token>(token));
  }
  template <io_object Rpc, class Message, class... More>
  auto operator()(Rpc& rpc, const Message& message, More&&... more) const {
    return rpc.write(message, std::forward<More>(more)...);
  }
};

struct write_last_function {
  template <class Responder, class Message = written_by<Responder>, class Token = DefaultCompletionToken>
  auto operator()(Responder& responder, const Message& message, grpc::WriteOptions options,
                  Token&& token = Token()) const {
    return start_on_token([to = &dereferenced(responder), m = &message,
                           options](void* tag) { to->WriteLast(*m, options, tag); },
                          std::forward<Token>(token));
  }
};

struct write_and_finish_function {
  template <class Responder, class Message = written_by<Responder>, class Token = DefaultCompletionToken>
  auto operator()(Responder& responder, const Message& message, grpc::WriteOptions options,
                  const grpc::Status& status, Token&& token = Token()) const {
    return start_on_token([to = &dereferenced(responder), m = &message, options,
                           status](void* tag) { to->WriteAndFinish(*m, options, status, tag); },
                          std::forward<Token>(token));
  }
};

struct writes_done_function {
  template <class Responder, class Token = DefaultCompletionToken>
  auto operator()(Responder& responder, Token&& token = Token()) const {
    return start_on_token([to = &dereferenced(responder)](void* tag) { to->WritesDone(tag); },
                          std::forward<Token>(token));
  }
};

struct finish_function {
  // The client's side of streams, which gets a status.
  template <class Responder, class Token = DefaultCompletionToken>
    requires requires(dereferenced_t<Responder>& r, grpc::Status* s, void* tag) { r.Finish(s, tag); }
  auto operator()(Responder& responder, grpc::Status& status, Token&& token = Token()) const {
    return start_on_token([to = &dereferenced(responder), s = &status](void* tag) { to->Finish(s, tag); },
                          std::forward<Token>(token));
  }
  // The server's, which sends one.
  template <class Responder, class Token = DefaultCompletionToken>
    requires requires(dereferenced_t<Responder>& r, const grpc::Status& s, void* tag) { r.Finish(s, tag); }
  auto operator()(Responder& responder, const grpc::Status& status, Token&& token = Token()) const {
    return start_on_token([to = &dereferenced(responder), status](void* tag) { to->Finish(status, tag); },
                          std::forward<Token>(token));
  }
  // The client's side of unary calls.
  template <class Responder, class Message, class Token = DefaultCompletionToken>
    requires requires(dereferenced_t<Responder>& r, Message& m, grpc::Status* s, void* tag) {
      r.Finish(&m, s, tag);
    }
  auto operator()(Responder& responder, Message& message, grpc::Status& status,
                  Token&& token = Token()) const {
    return start_on_token(
        [to = &dereferenced(responder), m = &message, s = &status](void* tag) { to->Finish(m, s, tag); },
        std::forward<Token>(token));
  }
  // The server's side of calls with one response.
  template <class Responder, class Message = written_by<Responder>, class Token = DefaultCompletionToken>
    requires requires(dereferenced_t<Responder>& r, const Message& m, const grpc::Status& s, void* tag) {
      r.Finish(m, s, tag);
    }
  auto operator()(Responder& responder, const Message& message, const grpc::Status& status,
                  Token&& token = Token()) const {
    return start_on_token(
        [to = &dereferenced(responder), m = &message, status](void* tag) { to->Finish(*m, status, tag); },
        std::forward<Token>(token));
  }
};

struct finish_with_error_function {
  template <class Responder, class Token = DefaultCompletionToken>
  auto operator()(Responder& responder, const grpc::Status& status, Token&& token = Token()) const {
    return start_on_token(
        [to = &dereferenced(responder), status](void* tag) { to->FinishWithError(status, tag); },
        std::forward<Token>(token));
  }
};

struct read_initial_metadata_function {
  template <class Responder, class Token = DefaultCompletionToken>
  auto operator()(Responder& responder, Token&& token = Token()) const {
    return start_on_token([to = &dereferenced(responder)](void* tag) { to->ReadInitialMetadata(tag); },
                          std::forward<Token>(token));
  }
};

struct send_initial_metadata_function {
  template <class Responder, class Token = DefaultCompletionToken>
  auto operator()(Responder& responder, Token&& token = Token()) const {
    return start_on_token([to = &dereferenced(responder)](void* tag) { to->SendInitialMetadata(tag); },
                          std::forward<Token>(token));
  }
};

}  // namespace internal

/// Starts an RPC, or waits for one: the first argument is a member function of a stub (`&Stub::AsyncX` of unary
/// methods, `&Stub::PrepareAsyncX` or `&Stub::AsyncX` of others) or of a service (`&AsyncService::RequestX`), or a
/// method's path with a GenericStub, or an AsyncGenericService.
///
///   auto reader = agrpc::request(&Stub::AsyncUnary, stub, client_context, request, grpc_context);
///   bool ok = co_await agrpc::request(&Stub::PrepareAsyncServerStreaming, stub, client_context, request, reader);
///   auto [writer, ok] = co_await agrpc::request(&Stub::PrepareAsyncClientStreaming, stub, client_context, response);
///   bool ok = co_await agrpc::request(&Service::RequestUnary, service, server_context, request, writer);
///
/// But for unary RPCs of clients, the last argument is a completion token, whose handler's signature is `void(bool)`,
/// or `void(std::pair<std::unique_ptr<Responder>, bool>)` in the form without a responder. False means that a client
/// has no connection, for which finish() has the status, and that a server was shut down. All arguments must outlive
/// the RPC.
///
/// For this function and those below: the executor of the completion handler must be that of a GrpcContext, on
/// whose completion queue the RPC is started.
inline constexpr internal::request_function request{};
/// `write(responder, message, [options,] token)` writes a message. The handler's signature is `void(bool)`, with false
/// if the call has ended. The message must outlive the operation. One write at a time; a read may be in progress.
inline constexpr internal::write_function write{};
/// `write_last(responder, message, options, token)` writes the last message.
inline constexpr internal::write_last_function write_last{};
/// `write_and_finish(responder, message, options, status, token)` writes the last message of a server and ends the RPC.
inline constexpr internal::write_and_finish_function write_and_finish{};
/// `writes_done(responder, token)` tells the server that the client has sent its last message.
inline constexpr internal::writes_done_function writes_done{};
/// Ends an RPC. A client gets the status: `finish(reader, message, status, token)` of unary calls, `finish(responder,
/// status, token)` of streams. A server sends it: `finish(writer, message, status, token)` where there is one
/// response, `finish(responder, status, token)` of others.
inline constexpr internal::finish_function finish{};
/// `finish_with_error(responder, status, token)` ends an RPC of a server that would have one response.
inline constexpr internal::finish_with_error_function finish_with_error{};
/// `read_initial_metadata(responder, token)` waits for the server's initial metadata.
inline constexpr internal::read_initial_metadata_function read_initial_metadata{};
/// `send_initial_metadata(responder, token)` sends the server's initial metadata.
inline constexpr internal::send_initial_metadata_function send_initial_metadata{};

}  // namespace agrpc::inline CORACLE_ASIO
