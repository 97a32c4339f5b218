// hosted_service: a Service of this API as a service of Coracle.
#pragma once

#include <grpcpp/impl/service_type.h>

#include "adapters/grpcpp/src/server/json_messages.hpp"
#include "adapters/grpcpp/src/server/server_call_core.hpp"

#include "coracle/server/service.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace grpc::internal {

// Its methods are those of `of`, with messages as bytes. Each has a starter, by the API that the program uses
// for it. Tables of methods outlive the servers: those of services that are registered again are used again.
class hosted_service final : public coracle::service {
 public:
  using starter_of = std::function<std::shared_ptr<call_starter>(RpcServiceMethod&)>;
  hosted_service(const Service& of, bool records_load, const starter_of& make);
  [[nodiscard]] coracle::method_table methods() const noexcept override { return table_; }

 private:
  using bytes = coracle::bytes_message;
  coracle::reply<bytes> unary(coracle::server_context& context, const bytes& request);
  coracle::reply<bytes> client_streaming(coracle::server_context& context, coracle::reader<bytes> requests);
  coracle::replies<bytes> server_streaming(coracle::server_context& context, const bytes& request);
  coracle::replies<bytes> bidi(coracle::server_context& context, coracle::reader<bytes> requests);

  struct hosted_method {
    std::shared_ptr<call_starter> starter;
    const google::protobuf::MethodDescriptor* described;  // null: the program is linked with none
  };
  // Runs a call to its end.
  coracle::task<coracle::status> run(coracle::server_context& context,
                                     std::shared_ptr<server_call_core> call) const;
  static coracle::method row_of(const RpcServiceMethod& method);
  static coracle::method_table table_of(const Service& of);

  coracle::method_table table_;
  const bool records_load_;
  std::unordered_map<std::string_view, hosted_method> methods_;
};

}  // namespace grpc::internal
