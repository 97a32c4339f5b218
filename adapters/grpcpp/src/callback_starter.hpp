// callback_starter: begins the calls of a method in the callback API.
#pragma once

#include <grpcpp/impl/server_callback_call.h>

#include "callback_method.hpp"
#include "server_call_core.hpp"

#include <memory>
#include <utility>

namespace grpc::internal {

class callback_starter final : public call_starter {
 public:
  callback_starter(callback_handler& handler, std::shared_ptr<callback_method> method,
                   std::shared_ptr<const server_interceptors> interceptors)
      : handler_(handler), method_(std::move(method)), interceptors_(std::move(interceptors)) {}
  coracle::status begin(std::shared_ptr<server_call_core> call) override {
    handler_.begin({std::move(call), method_, interceptors_});
    return coracle::ok;
  }

 private:
  callback_handler& handler_;
  const std::shared_ptr<callback_method> method_;
  const std::shared_ptr<const server_interceptors> interceptors_;
};

}  // namespace grpc::internal
