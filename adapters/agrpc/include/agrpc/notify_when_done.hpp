// notify_when_done: the end of an RPC of a server.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/impl/initiate.hpp"
#include "agrpc/impl/library.hpp"

#include <grpcpp/server_context.h>

#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

struct await_done {
  using result = void;
  void start(GrpcContext&, void* tag) { context->AsyncNotifyWhenDone(tag); }
  static void take(bool) noexcept {}
  grpc::ServerContext* context;
};

}  // namespace internal

/// Waits until the RPC of `server_context` has ended: the answer was sent, or the client is gone, which
/// IsCancelled() tells then. Start it before the RPC is requested. The handler's signature is `void()`.
///
/// The wait does not end if the RPC never begins: stop() the GrpcContext, or destroy it, after the server was shut
/// down.
template <class Token = DefaultCompletionToken>
auto notify_when_done(GrpcContext& grpc_context, grpc::ServerContext& server_context,
                      Token&& token = Token()) {
  return internal::initiate(grpc_context.get_executor(), internal::await_done{&server_context},
                            std::forward<Token>(token));
}

}  // namespace agrpc::inline CORACLE_ASIO
