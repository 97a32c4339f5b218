// The service of the conformance suite.
#pragma once

#include "connectrpc/conformance/v1/service.coracle.hpp"

#include <coracle/server.hpp>

namespace conformance {

namespace pb = connectrpc::conformance::v1;

// Unimplemented is left to the base class, as the suite requires.
class conformance_service final : public pb::rpc::ConformanceService::service {
  coracle::reply<pb::UnaryResponse> Unary(coracle::server_context& context,
                                          const pb::UnaryRequest& request) override;
  coracle::reply<pb::IdempotentUnaryResponse> IdempotentUnary(
      coracle::server_context& context, const pb::IdempotentUnaryRequest& request) override;
  coracle::reply<pb::ClientStreamResponse> ClientStream(
      coracle::server_context& context, coracle::reader<pb::ClientStreamRequest> requests) override;
  coracle::replies<pb::ServerStreamResponse> ServerStream(coracle::server_context& context,
                                                          const pb::ServerStreamRequest& request) override;
  coracle::replies<pb::BidiStreamResponse> BidiStream(
      coracle::server_context& context, coracle::reader<pb::BidiStreamRequest> requests) override;
};

}  // namespace conformance
