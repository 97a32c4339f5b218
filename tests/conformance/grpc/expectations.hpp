// Shared by the cases of gRPC's interop description: sizes, keys, and how they report a failure.
#pragma once

#include "grpc/testing/test.coracle.hpp"

#include <coracle/client.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace interop {

namespace pb = grpc::testing;
using stub = pb::rpc::TestService::stub;

// A case that takes longer has failed.
constexpr auto patience = std::chrono::seconds(20);

// The sizes in the description, in bytes.
constexpr std::int32_t large_request = 271828, large_response = 314159;
constexpr std::array<std::int32_t, 4> request_sizes = {27182, 8, 1828, 45904};
constexpr std::array<std::int32_t, 4> response_sizes = {31415, 9, 2653, 58979};

// Each throws if its condition does not hold.
void require(bool truth, const std::string& text);
void require_status(const coracle::status& found, coracle::status_code code, std::string_view message);
void require_code(const coracle::status& found, coracle::status_code code);
void require_size(const pb::Payload& payload, std::int32_t size);

// Zeros.
std::string body_of(std::int32_t bytes);
pb::SimpleRequest simple_request(std::int32_t request_bytes = large_request,
                                 std::int32_t response_bytes = large_response);
pb::StreamingOutputCallRequest duplex_request(std::int32_t request_bytes, std::int32_t response_bytes);

}  // namespace interop
