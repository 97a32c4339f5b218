// hosted_generic: a CallbackGenericService as a service of Coracle.
#pragma once

#include <grpcpp/generic/callback_generic_service.h>

#include "callback_method.hpp"
#include "interception.hpp"
#include "server_call_core.hpp"

#include "coracle/server/generic_service.hpp"

#include <memory>
#include <string>
#include <utility>

namespace grpc::internal {

// All its methods count as one where callbacks that block are looked for.
class hosted_generic final : public coracle::generic_service {
 public:
  hosted_generic(CallbackGenericService& of, std::shared_ptr<callback_method> method,
                 std::shared_ptr<const interceptor_factories> interceptors)
      : of_(of), method_(std::move(method)), interceptors_(std::move(interceptors)) {}
  coracle::replies<coracle::bytes_message> call(coracle::server_context& context,
                                                coracle::reader<coracle::bytes_message> requests) override {
    const coracle::writer<coracle::bytes_message> writer =
        co_await coracle::replies<coracle::bytes_message>::writer();
    const auto call = std::make_shared<server_call_core>(context, coracle::bytes_message(), requests, writer);
    starter begin(*this, std::string(context.method()));
    auto running = server_call_core::run(call, begin);
    co_return co_await std::move(running);
  }

 private:
  // For one call.
  class starter final : public call_starter {
   public:
    starter(hosted_generic& by, std::string method) : by_(by), method_(std::move(method)) {}
    coracle::status begin(std::shared_ptr<server_call_core> call) override {
      std::shared_ptr<const server_interceptors> interceptors;
      if (!by_.interceptors_->empty())
        interceptors = std::make_shared<const server_interceptors>(server_interceptors{
            by_.interceptors_,
            RpcMethod(std::make_shared<const std::string>(method_), RpcMethod::BIDI_STREAMING)});
      by_.of_.begin({std::move(call), by_.method_, std::move(interceptors)}, std::move(method_));
      return coracle::ok;
    }

   private:
    hosted_generic& by_;
    std::string method_;
  };

  CallbackGenericService& of_;
  const std::shared_ptr<callback_method> method_;
  const std::shared_ptr<const interceptor_factories> interceptors_;
};

}  // namespace grpc::internal
