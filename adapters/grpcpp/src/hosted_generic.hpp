// hosted_generic: a generic service of this API as a service of Coracle.
#pragma once

#include "server_call_core.hpp"

#include "coracle/server/generic_service.hpp"

#include <memory>
#include <utility>

namespace grpc::internal {

// Has its calls begun by a starter of the API that the generic service is of.
class hosted_generic final : public coracle::generic_service {
 public:
  explicit hosted_generic(std::shared_ptr<call_starter> by) : by_(std::move(by)) {}
  coracle::replies<coracle::bytes_message> call(coracle::server_context& context,
                                                coracle::reader<coracle::bytes_message> requests) override {
    const coracle::writer<coracle::bytes_message> writer =
        co_await coracle::replies<coracle::bytes_message>::writer();
    const auto call = std::make_shared<server_call_core>(context, coracle::bytes_message(), requests, writer);
    call->set_method(context.method());
    auto running = server_call_core::run(call, *by_);
    co_return co_await std::move(running);
  }

 private:
  const std::shared_ptr<call_starter> by_;
};

}  // namespace grpc::internal
