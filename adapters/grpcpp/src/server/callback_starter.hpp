// callback_starter: begins the calls of a method in the callback API. generic_callback_starter: those of a
// generic service.
#pragma once

#include <grpcpp/generic/callback_generic_service.h>
#include <grpcpp/impl/server_callback_call.h>

#include "adapters/grpcpp/src/interceptors/interception.hpp"
#include "adapters/grpcpp/src/server/callback_method.hpp"
#include "adapters/grpcpp/src/server/server_call_core.hpp"

#include <memory>
#include <string>
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

// All methods have one name in the log.
class generic_callback_starter final : public call_starter {
 public:
  // named: interceptors are told the method of a call.
  generic_callback_starter(CallbackGenericService& of, std::shared_ptr<callback_method> method,
                           std::shared_ptr<const server_interceptors> interceptors, bool named = true)
      : of_(of), method_(std::move(method)), interceptors_(std::move(interceptors)), named_(named) {}
  coracle::status begin(std::shared_ptr<server_call_core> call) override {
    std::string method = call->method();
    auto interceptors = named_ ? for_generic_call(interceptors_, method) : interceptors_;
    of_.begin({std::move(call), method_, std::move(interceptors)}, std::move(method));
    return coracle::ok;
  }

 private:
  CallbackGenericService& of_;
  const std::shared_ptr<callback_method> method_;
  const std::shared_ptr<const server_interceptors> interceptors_;
  const bool named_;
};

}  // namespace grpc::internal
