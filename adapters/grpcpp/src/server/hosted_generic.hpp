// hosted_generic: a generic service of this API as a service of Coracle.
#pragma once

#include "adapters/grpcpp/src/server/json_messages.hpp"
#include "adapters/grpcpp/src/server/server_call_core.hpp"

#include "coracle/server/generic_service.hpp"

#include <memory>
#include <utility>

namespace grpc::internal {

// Has its calls begun by a starter of the API that the generic service is of.
//
// The program cannot know that messages are JSON. It has them in protobuf's binary format, as other services
// do, by the descriptor of the method; a call of a method without one in the program ends with UNIMPLEMENTED.
// A server of gRPC alone passes the messages of all content-subtypes as they are, as grpc++ does.
class hosted_generic final : public coracle::generic_service {
 public:
  hosted_generic(std::shared_ptr<call_starter> by, bool takes_json, bool records_load)
      : by_(std::move(by)), takes_json_(takes_json), records_load_(records_load) {}
  coracle::replies<coracle::bytes_message> call(coracle::server_context& context,
                                                coracle::reader<coracle::bytes_message> requests) override {
    const coracle::writer<coracle::bytes_message> writer =
        co_await coracle::replies<coracle::bytes_message>::writer();
    const auto call = std::make_shared<server_call_core>(context, coracle::bytes_message(), requests, writer);
    call->set_method(context.method());
    if (records_load_) call->record_load();
    if (takes_json_ && context.content_subtype() == "json") {
      const json_messages json(linked_method(context.method()));
      if (coracle::status usable = json.usable(); !usable.ok()) co_return usable;
      call->use_json(json);
    }
    auto running = server_call_core::run(call, *by_);
    co_return co_await std::move(running);
  }

 private:
  const std::shared_ptr<call_starter> by_;
  const bool takes_json_;
  const bool records_load_;
};

}  // namespace grpc::internal
