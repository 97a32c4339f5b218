// client_method: what the type of a stub's member function says about the method that it starts.
#pragma once

#include "agrpc/impl/library.hpp"
#include "agrpc/rpc_type.hpp"

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>

#include <memory>

namespace agrpc::inline CORACLE_ASIO::internal {

// For the functions that grpc_cpp_plugin generates: PrepareAsyncX, which leaves the start to StartCall(tag), and
// AsyncX, which starts the call.
template <class Function>
struct client_method;

template <class StubT, class RequestT, template <class> class ResponderT, class ResponseT>
struct client_method<std::unique_ptr<ResponderT<ResponseT>> (StubT::*)(grpc::ClientContext*, const RequestT&,
                                                                       grpc::CompletionQueue*)> {
  using Stub = StubT;
  using Request = RequestT;
  using Response = ResponseT;
  using Responder = ResponderT<ResponseT>;
  static constexpr bool unary = requires(Responder& r, ResponseT* response, grpc::Status* status, void* tag) {
    r.Finish(response, status, tag);
  };
  static constexpr bool takes_tag = false;
  static constexpr ClientRPCType type = unary ? ClientRPCType::UNARY : ClientRPCType::SERVER_STREAMING;
};
// AsyncServerStreaming
template <class StubT, class RequestT, template <class> class ResponderT, class ResponseT>
struct client_method<std::unique_ptr<ResponderT<ResponseT>> (StubT::*)(grpc::ClientContext*, const RequestT&,
                                                                       grpc::CompletionQueue*, void*)> {
  using Stub = StubT;
  using Request = RequestT;
  using Response = ResponseT;
  using Responder = ResponderT<ResponseT>;
  static constexpr bool takes_tag = true;
  static constexpr ClientRPCType type = ClientRPCType::SERVER_STREAMING;
};

template <class StubT, template <class> class ResponderT, class RequestT, class ResponseT, class... Tag>
struct client_method<std::unique_ptr<ResponderT<RequestT>> (StubT::*)(grpc::ClientContext*, ResponseT*,
                                                                      grpc::CompletionQueue*, Tag...)> {
  using Stub = StubT;
  using Request = RequestT;
  using Response = ResponseT;
  using Responder = ResponderT<RequestT>;
  static constexpr bool takes_tag = sizeof...(Tag) != 0;
  static constexpr ClientRPCType type = ClientRPCType::CLIENT_STREAMING;
};

template <class StubT, template <class, class> class ResponderT, class RequestT, class ResponseT,
          class... Tag>
struct client_method<std::unique_ptr<ResponderT<RequestT, ResponseT>> (StubT::*)(
    grpc::ClientContext*, grpc::CompletionQueue*, Tag...)> {
  using Stub = StubT;
  using Request = RequestT;
  using Response = ResponseT;
  using Responder = ResponderT<RequestT, ResponseT>;
  static constexpr bool takes_tag = sizeof...(Tag) != 0;
  static constexpr ClientRPCType type = ClientRPCType::BIDIRECTIONAL_STREAMING;
};

}  // namespace agrpc::inline CORACLE_ASIO::internal
