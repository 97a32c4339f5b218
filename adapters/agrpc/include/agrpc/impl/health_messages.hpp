// health_messages: the messages of grpc.health.v1.Health as bytes, so that no generated code is needed.
#pragma once

#include "agrpc/impl/library.hpp"

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agrpc::inline CORACLE_ASIO::internal {

// HealthCheckResponse.ServingStatus
enum class serving_status : std::uint8_t { unknown, serving, not_serving, service_unknown };

// Takes a varint from the front of the bytes.
inline std::optional<std::uint64_t> take_varint(std::string_view& from) noexcept {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(from.front());
    from.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

// HealthCheckRequest.service. Nothing if the bytes are no message.
inline std::optional<std::string> parse_health_request(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (buffer.Valid() && !buffer.Dump(&slices).ok()) return std::nullopt;
  std::string all;
  for (const grpc::Slice& s : slices) all.append(reinterpret_cast<const char*>(s.begin()), s.size());
  std::string service;
  std::string_view rest = all;
  while (!rest.empty()) {
    const auto key = take_varint(rest);
    if (!key) return std::nullopt;
    std::optional<std::uint64_t> length;
    switch (*key & 7) {
      case 0:
        if (!take_varint(rest)) return std::nullopt;
        continue;
      case 1: length = 8; break;
      case 2: length = take_varint(rest); break;
      case 5: length = 4; break;
      default: return std::nullopt;
    }
    if (!length || *length > rest.size()) return std::nullopt;
    if (*key == 10) service.assign(rest.substr(0, *length));  // field 1, a string
    rest.remove_prefix(*length);
  }
  return service;
}

// HealthCheckResponse
inline grpc::ByteBuffer make_health_response(serving_status status) {
  const char bytes[] = {8, static_cast<char>(status)};  // field 1, a varint
  const grpc::Slice slice(bytes, status == serving_status::unknown ? 0 : sizeof bytes);
  return {&slice, 1};
}

}  // namespace agrpc::inline CORACLE_ASIO::internal
