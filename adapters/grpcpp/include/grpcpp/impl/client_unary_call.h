// BlockingUnaryCall(): what the synchronous unary methods of generated stubs call.
#pragma once

#include <grpcpp/impl/client_call.h>
#include <grpcpp/impl/intercepted_calls.h>
#include <grpcpp/impl/proto_utils.h>
#include <grpcpp/support/status.h>

#include <string>
#include <utility>

namespace grpc {

class ClientContext;

namespace internal {

template <class Request, class Reply, class BaseRequest = Request, class BaseReply = Reply>
Status BlockingUnaryCall(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                         const Request& request, Reply* reply) {
  if (const auto seen = intercept_call(channel, method, context)) [[unlikely]]
    return intercepted_unary<BaseRequest, BaseReply>(*seen, channel, method, context, request, reply);
  std::string sent;
  Status s = to_bytes<BaseRequest>(request, sent);
  if (!s.ok()) return s;
  std::string received;
  s = blocking_unary(channel, method, context, std::move(sent), received);
  if (!s.ok()) return s;
  return from_bytes<BaseReply>(std::move(received), *reply);
}

}  // namespace internal
}  // namespace grpc
