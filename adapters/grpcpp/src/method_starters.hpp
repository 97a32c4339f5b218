// method_starters: what the synchronous methods and the callback methods of a server share.
#pragma once

#include <grpcpp/impl/rpc_service_method.h>

#include "callback_method.hpp"
#include "handler_pool.hpp"
#include "interception.hpp"
#include "server_call_core.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace grpc::internal {

// Handlers that block for the length of a stream are what the synchronous API is made of; a thread takes
// little but the part of its stack that was used.
constexpr std::size_t handlers_max = 4'096;

// The threads of the handlers and callbacks.
class method_starters {
 public:
  method_starters(std::size_t threads_max, std::shared_ptr<const interceptor_factories> interceptors)
      : handlers_(threads_max), interceptors_(std::move(interceptors)) {}

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
