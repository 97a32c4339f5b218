#include "adapters/grpcpp/src/server/method_starters.hpp"

#include "adapters/grpcpp/src/server/callback_starter.hpp"
#include "adapters/grpcpp/src/server/handler_call.hpp"

namespace grpc::internal {

std::shared_ptr<call_starter> method_starters::starter_of(RpcServiceMethod& method) {
  if (method.api_type() == RpcServiceMethod::ApiType::SYNC)
    return std::make_shared<handler_starter>(method, *interceptors_, handlers_);
  return std::make_shared<callback_starter>(static_cast<callback_handler&>(*method.handler()),
                                            callbacks_of(method.name()), interceptors_of(method));
}

std::shared_ptr<const server_interceptors> method_starters::interceptors_of(const RpcMethod& method) const {
  if (interceptors_->empty()) return nullptr;
  return std::make_shared<const server_interceptors>(server_interceptors{interceptors_, method});
}

}  // namespace grpc::internal
