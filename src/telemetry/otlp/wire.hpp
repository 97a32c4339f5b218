// wire: what OTLP's messages need of protobuf's wire format beyond rpc/proto_wire.hpp.
//
// The messages are written directly: a program may link other C++ of opentelemetry-proto beside this library,
// and protobuf's pool takes one copy only (docs/decisions/0005).
#pragma once

#include "base/utf8.hpp"
#include "rpc/proto_wire.hpp"

#include <bit>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal {

using rpc::put_number;
using rpc::put_text;
using rpc::put_varint;

using wall_time = std::chrono::system_clock::time_point;

inline void put_fixed(std::string& to, std::uint64_t n, std::size_t bytes) {
  for (; bytes != 0; --bytes, n >>= 8) to.push_back(static_cast<char>(n));
}
// put_fixed64() and put_fixed32() leave out zero, as proto3 does; put_double() does not, because every double
// of OTLP is optional or a member of a oneof.
inline void put_fixed64(std::string& to, std::uint32_t field, std::uint64_t n) {
  if (n == 0) return;
  put_varint(to, field << 3 | 1);
  put_fixed(to, n, 8);
}
inline void put_fixed32(std::string& to, std::uint32_t field, std::uint32_t n) {
  if (n == 0) return;
  put_varint(to, field << 3 | 5);
  put_fixed(to, n, 4);
}
inline void put_double(std::string& to, std::uint32_t field, double value) {
  put_varint(to, field << 3 | 1);
  put_fixed(to, std::bit_cast<std::uint64_t>(value), 8);
}
inline void put_sint32(std::string& to, std::uint32_t field, std::int32_t n) {
  put_number(to, field, (static_cast<std::uint32_t>(n) << 1) ^ static_cast<std::uint32_t>(n >> 31));
}
inline void put_time(std::string& to, std::uint32_t field, wall_time t) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
  put_fixed64(to, field, ns > 0 ? static_cast<std::uint64_t>(ns) : 0);
}
// A member of a oneof, which is written even if it is zero.
inline void put_oneof_number(std::string& to, std::uint32_t field, std::uint64_t n) {
  put_varint(to, field << 3);
  put_varint(to, n);
}
// Packed.
inline void put_fixed64s(std::string& to, std::uint32_t field, std::span<const std::uint64_t> all) {
  if (all.empty()) return;
  put_varint(to, field << 3 | 2);
  put_varint(to, all.size() * 8);
  for (const std::uint64_t n : all) put_fixed(to, n, 8);
}
inline void put_doubles(std::string& to, std::uint32_t field, std::span<const double> all) {
  if (all.empty()) return;
  put_varint(to, field << 3 | 2);
  put_varint(to, all.size() * 8);
  for (const double d : all) put_fixed(to, std::bit_cast<std::uint64_t>(d), 8);
}
inline void put_varints(std::string& to, std::uint32_t field, std::span<const std::uint64_t> all) {
  std::string packed;
  for (const std::uint64_t n : all) put_varint(packed, n);
  put_text(to, field, packed);
}
// A field of type `string`. Receivers reject a request with invalid UTF-8 as a whole, so what is invalid
// becomes U+FFFD.
inline void put_string(std::string& to, std::uint32_t field, std::string_view text, bool even_empty = false) {
  if (base::is_utf8(text)) return put_text(to, field, text, even_empty);
  std::string valid;
  while (!text.empty()) {
    const std::size_t n = base::valid_utf8_bytes(text);
    valid.append(text.substr(0, n));
    text.remove_prefix(n);
    if (text.empty()) break;
    base::append_utf8(valid, 0xfffd);
    text.remove_prefix(1);
  }
  put_text(to, field, valid);
}

}  // namespace coracle::telemetry_internal
