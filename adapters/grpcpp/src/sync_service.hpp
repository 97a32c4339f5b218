// sync_service: a Service of the synchronous API as a service of Coracle.
#pragma once

#include <grpcpp/impl/service_type.h>

#include "handler_pool.hpp"
#include "server_call_core.hpp"

#include "coracle/server/service.hpp"

#include <functional>
#include <string_view>
#include <unordered_map>

namespace grpc::internal {

// Its methods are those of `of`, with messages as bytes. Tables of methods outlive the servers: those of
// services that are registered again are used again.
class sync_service final : public coracle::service {
 public:
  sync_service(const Service& of, handler_pool& handlers);
  [[nodiscard]] coracle::method_table methods() const noexcept override { return table_; }

 private:
  using bytes = coracle::bytes_message;
  coracle::reply<bytes> unary(coracle::server_context& context, const bytes& request);
  coracle::reply<bytes> client_streaming(coracle::server_context& context, coracle::reader<bytes> requests);
  coracle::replies<bytes> server_streaming(coracle::server_context& context, const bytes& request);
  coracle::replies<bytes> bidi(coracle::server_context& context, coracle::reader<bytes> requests);

  [[nodiscard]] MethodHandler& handler_of(const coracle::server_context& context) const {
    return *handlers_.find(context.method())->second;
  }
  static coracle::method row_of(const RpcServiceMethod& method);
  static coracle::method_table table_of(const Service& of);

  handler_pool& pool_;
  coracle::method_table table_;
  std::unordered_map<std::string_view, MethodHandler*> handlers_;
};

}  // namespace grpc::internal
