// server_interception: the interceptors of one call of a server.
#pragma once

#include <grpcpp/impl/interception.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <string>
#include <vector>

namespace grpc::internal {

using interceptor_factories = std::vector<std::unique_ptr<experimental::ServerInterceptorFactoryInterface>>;

// What the interceptors of a server are made for: the calls of a method.
struct server_interceptors {
  std::shared_ptr<const interceptor_factories> by;
  RpcMethod method;
};
// The same for a call of a generic service, whose method is known then. Null as `by` is.
[[nodiscard]] inline std::shared_ptr<const server_interceptors> for_generic_call(
    const std::shared_ptr<const server_interceptors>& by, const std::string& method) {
  if (!by) return nullptr;
  return std::make_shared<const server_interceptors>(server_interceptors{
      by->by, RpcMethod(std::make_shared<const std::string>(method), RpcMethod::BIDI_STREAMING)});
}
// Null if none sees the call. On the thread of the program that has bound the context to its call.
std::shared_ptr<call_interception> intercept_call(std::shared_ptr<const server_interceptors> by,
                                                  ServerContextBase& context);

class server_interception final : public call_interception {
 public:
  server_interception(const interceptor_factories& by, ServerContextBase& context, const RpcMethod& method);
  [[nodiscard]] bool empty() const noexcept { return interceptors_.empty(); }

 private:
  void take_metadata(interceptor_batch& b) override;
  void give_metadata(interceptor_batch& b) override;
  std::unique_ptr<ChannelInterface> channel_after(std::size_t position) override;
  experimental::ServerRpcInfo info_;
};

}  // namespace grpc::internal
