// method_starters: what the synchronous methods and the callback methods of a server share.
#pragma once

#include <grpcpp/impl/rpc_service_method.h>

#include "adapters/grpcpp/src/interceptors/interception.hpp"
#include "adapters/grpcpp/src/server/callback_method.hpp"
#include "adapters/grpcpp/src/server/server_call_core.hpp"
#include "adapters/grpcpp/src/threads/handler_pool.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace grpc::internal {

// The threads of the handlers and callbacks.
class method_starters {
 public:
  method_starters(handler_pool::limit most, std::shared_ptr<const interceptor_factories> interceptors)
      : handlers_(most), interceptors_(std::move(interceptors)) {}

  // For a method of one of the two APIs; the object outlives the starter.
  [[nodiscard]] std::shared_ptr<call_starter> starter_of(RpcServiceMethod& method);
  [[nodiscard]] std::shared_ptr<callback_method> callbacks_of(const char* name) {
    return std::make_shared<callback_method>(name, callbacks_);
  }
  [[nodiscard]] server_callbacks& callbacks() noexcept { return *callbacks_; }
  // Null if there are none.
  [[nodiscard]] std::shared_ptr<const server_interceptors> interceptors_of(const RpcMethod& method) const;

  // After the end of the calls: waits for the handlers and callbacks that still run.
  void stop() noexcept {
    callbacks_->wait_for_calls();
    handlers_.stop();
  }

 private:
  handler_pool handlers_;
  const std::shared_ptr<server_callbacks> callbacks_ = std::make_shared<server_callbacks>();
  const std::shared_ptr<const interceptor_factories> interceptors_;
};

}  // namespace grpc::internal
