// mesh_service: grpc.testing.TestService as gRPC's xDS interop tests want it.
#pragma once

#include "grpc/testing/test.coracle.hpp"

#include <coracle/server.hpp>

#include <string>
#include <utility>

namespace interop {

namespace pb = grpc::testing;

// Says who it is, and does with a UnaryCall what the metadata `rpc-behavior` asks for: sleep-N (seconds),
// keep-open, error-code-N, succeed-on-retry-attempt-N; with "hostname=H " before it, only on that server.
class mesh_service final : public pb::rpc::TestService::service {
 public:
  mesh_service(std::string host, std::string id) : host_(std::move(host)), id_(std::move(id)) {}

 private:
  coracle::reply<pb::Empty> EmptyCall(coracle::server_context& context, const pb::Empty& request) override;
  coracle::reply<pb::SimpleResponse> UnaryCall(coracle::server_context& context,
                                               const pb::SimpleRequest& request) override;

  const std::string host_;
  const std::string id_;
};

}  // namespace interop
