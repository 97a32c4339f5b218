// grpc.testing.TestService as in gRPC's interop description.
#pragma once

#include "grpc/testing/test.coracle.hpp"

#include "load_reports.hpp"

#include <coracle/server.hpp>

#include <cstdint>

namespace interop {

namespace pb = grpc::testing;

// For a server of one loop. `loads` must outlive it.
class test_service final : public pb::rpc::TestService::service {
 public:
  explicit test_service(load_reports& loads) noexcept : loads_(loads) {}

 private:
  coracle::reply<pb::Empty> EmptyCall(coracle::server_context& context, const pb::Empty& request) override;
  coracle::reply<pb::SimpleResponse> UnaryCall(coracle::server_context& context,
                                               const pb::SimpleRequest& request) override;
  coracle::reply<pb::SimpleResponse> CacheableUnaryCall(coracle::server_context& context,
                                                        const pb::SimpleRequest& request) override;
  coracle::replies<pb::StreamingOutputCallResponse> StreamingOutputCall(
      coracle::server_context& context, const pb::StreamingOutputCallRequest& request) override;
  coracle::reply<pb::StreamingInputCallResponse> StreamingInputCall(
      coracle::server_context& context, coracle::reader<pb::StreamingInputCallRequest> requests) override;
  coracle::replies<pb::StreamingOutputCallResponse> FullDuplexCall(
      coracle::server_context& context, coracle::reader<pb::StreamingOutputCallRequest> requests) override;
  coracle::replies<pb::StreamingOutputCallResponse> HalfDuplexCall(
      coracle::server_context& context, coracle::reader<pb::StreamingOutputCallRequest> requests) override;

  // A different one for each call.
  std::int64_t next_timestamp_ns() noexcept;

  load_reports& loads_;
  std::int64_t last_timestamp_ns_ = 0;
};

}  // namespace interop
