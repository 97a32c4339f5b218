// read: reads a message, from a responder of grpc++ or from an RPC of this library.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/responder.hpp"

#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

struct read_function {
  template <class Responder, class Message, class Token = DefaultCompletionToken>
    requires(!io_object<Responder>)
  auto operator()(Responder& responder, Message& message, Token&& token = Token()) const {
    return start_on_token([to = &dereferenced(responder), m = &message](void* tag) { to->Read(m, tag); },
                          std::forward<Token>(token));
  }
  template <io_object Rpc, class Message, class... Token>
  auto operator()(Rpc& rpc, Message& message, Token&&... token) const {
    return rpc.read(message, std::forward<Token>(token)...);
  }
};

}  // namespace internal

/// `read(responder, message, token)` reads a message from a reader of grpc++ or a std::unique_ptr to one; the
/// completion handler's executor must be that of a GrpcContext. `read(rpc, message, token)` is
/// `rpc.read(message, token)`. The handler's signature is `void(bool)`, with false at the end of the stream.
/// The message must outlive the operation. One read at a time; writes may be in progress.
inline constexpr internal::read_function read{};

}  // namespace agrpc::inline CORACLE_ASIO
