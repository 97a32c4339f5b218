// frame: the frame header, types, flags and octet order that all frames share (RFC 9113 4.1).
#pragma once

#include "coracle/base/bytes.hpp"
#include "http2/event.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::http2 {

enum class frame_type : std::uint8_t {
  data = 0,
  headers = 1,
  priority = 2,
  rst_stream = 3,
  settings = 4,
  push_promise = 5,
  ping = 6,
  goaway = 7,
  window_update = 8,
  continuation = 9,
};

namespace flag {
inline constexpr std::uint8_t none = 0;
inline constexpr std::uint8_t end_stream = 0x1;  // DATA, HEADERS
inline constexpr std::uint8_t ack = 0x1;         // SETTINGS, PING
inline constexpr std::uint8_t end_headers = 0x4;
inline constexpr std::uint8_t padded = 0x8;
inline constexpr std::uint8_t priority = 0x20;
}  // namespace flag

// The bytes that a client sends before its first frame (RFC 9113 3.4).
inline constexpr std::string_view client_preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

inline constexpr std::size_t frame_header_bytes = 9;
inline constexpr stream_id stream_id_max = 0x7fffffff;
// The frame size that every peer accepts (RFC 9113 4.2), and the largest that we send: larger frames would
// save 9 bytes in 16384 and make streams wait for each other.
inline constexpr std::uint32_t frame_bytes_min_max = 1u << 14;
inline constexpr std::uint32_t frame_bytes_max_max = (1u << 24) - 1;

inline std::uint32_t load_u32(const std::uint8_t* from) noexcept {
  return std::uint32_t{from[0]} << 24 | std::uint32_t{from[1]} << 16 | std::uint32_t{from[2]} << 8 | from[3];
}
inline void store_u32(std::uint8_t* to, std::uint32_t value) noexcept {
  to[0] = static_cast<std::uint8_t>(value >> 24);
  to[1] = static_cast<std::uint8_t>(value >> 16);
  to[2] = static_cast<std::uint8_t>(value >> 8);
  to[3] = static_cast<std::uint8_t>(value);
}
inline std::uint64_t load_u64(const std::uint8_t* from) noexcept {
  return std::uint64_t{load_u32(from)} << 32 | load_u32(from + 4);
}
inline void store_u64(std::uint8_t* to, std::uint64_t value) noexcept {
  store_u32(to, static_cast<std::uint32_t>(value >> 32));
  store_u32(to + 4, static_cast<std::uint32_t>(value));
}

struct frame_header {
  std::uint32_t length = 0;
  frame_type type = frame_type::data;  // may hold any octet: unknown types are ignored
  std::uint8_t flags = 0;
  stream_id id = 0;

  [[nodiscard]] bool has(std::uint8_t f) const noexcept { return (flags & f) != 0; }
};

// Requires nine readable octets.
inline frame_header read_frame_header(const std::uint8_t* from) noexcept {
  return {std::uint32_t{from[0]} << 16 | std::uint32_t{from[1]} << 8 | from[2],
          static_cast<frame_type>(from[3]), from[4],
          load_u32(from + 5) & stream_id_max};  // the reserved bit is ignored
}

// Requires nine writable octets; returns where the payload starts.
inline std::uint8_t* write_frame_header(std::uint8_t* to, std::size_t length, frame_type type,
                                        std::uint8_t flags, stream_id id) noexcept {
  to[0] = static_cast<std::uint8_t>(length >> 16);
  to[1] = static_cast<std::uint8_t>(length >> 8);
  to[2] = static_cast<std::uint8_t>(length);
  to[3] = static_cast<std::uint8_t>(type);
  to[4] = flags;
  store_u32(to + 5, id);
  return to + frame_header_bytes;
}

// Removes the padding of a complete HEADERS payload (RFC 9113 6.2). Returns false if there is more padding
// than payload, which is a connection error of type PROTOCOL_ERROR.
inline bool strip_padding(bytes_view& payload) noexcept {
  if (payload.empty() || payload[0] >= payload.size()) return false;
  payload = payload.subspan(1, payload.size() - 1 - payload[0]);
  return true;
}

}  // namespace coracle::http2
