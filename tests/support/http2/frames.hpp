// Valid and invalid frames as bytes, for tests to feed to an engine. Each is a string of octets.
#pragma once

#include "coracle/base/bytes.hpp"
#include "hpack/encoder.hpp"
#include "http2/frame.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::http2::test::frames {

inline std::string u32(std::uint32_t value) {
  std::uint8_t bytes[4];
  store_u32(bytes, value);
  return std::string(as_text(bytes));
}

// Any frame; the length field is that of the payload.
inline std::string raw(frame_type type, unsigned flags, stream_id id, std::string_view payload) {
  std::uint8_t head[frame_header_bytes];
  write_frame_header(head, payload.size(), type, static_cast<std::uint8_t>(flags), id);
  return std::string(as_text(head)).append(payload);
}

inline std::string data(stream_id id, std::string_view payload, unsigned flags = 0) {
  return raw(frame_type::data, flags, id, payload);
}
inline std::string padded(std::string_view payload, std::uint8_t pad) {
  return std::string(1, static_cast<char>(pad)).append(payload).append(pad, '\0');
}
inline std::string block(std::initializer_list<hpack::field> fields) {
  const auto bytes = hpack::stateless_encoder::encode_block(fields);
  return std::string(as_text(bytes));
}
inline std::string headers(stream_id id, std::string_view payload, unsigned flags = flag::end_headers) {
  return raw(frame_type::headers, flags, id, payload);
}
inline std::string continuation(stream_id id, std::string_view payload, unsigned flags = flag::end_headers) {
  return raw(frame_type::continuation, flags, id, payload);
}
inline std::string priority(stream_id id, stream_id depends_on) {
  return raw(frame_type::priority, 0, id, u32(depends_on) + '\x10');
}
inline std::string rst_stream(stream_id id, error_code code) {
  return raw(frame_type::rst_stream, 0, id, u32(static_cast<std::uint32_t>(code)));
}
inline std::string settings(std::initializer_list<std::pair<unsigned, std::uint32_t>> entries = {}) {
  std::string payload;
  for (const auto& [id, value] : entries)
    payload.append({static_cast<char>(id >> 8), static_cast<char>(id & 0xff)}).append(u32(value));
  return raw(frame_type::settings, 0, 0, payload);
}
inline std::string settings_ack() { return raw(frame_type::settings, flag::ack, 0, {}); }
inline std::string ping(std::string_view opaque, bool ack = false) {
  return raw(frame_type::ping, ack ? flag::ack : 0u, 0, opaque);
}
inline std::string goaway(stream_id last, error_code code, std::string_view debug = {}) {
  return raw(frame_type::goaway, 0, 0,
             u32(last) + u32(static_cast<std::uint32_t>(code)) + std::string(debug));
}
inline std::string window_update(stream_id id, std::uint32_t increment) {
  return raw(frame_type::window_update, 0, id, u32(increment));
}

inline constexpr unsigned end = flag::end_stream;
inline constexpr unsigned end_headers = flag::end_headers;
inline constexpr unsigned end_both = flag::end_stream | flag::end_headers;

// The beginning of every conversation.
inline std::string from_client() { return std::string(client_preface) + settings() + settings_ack(); }
inline std::string from_server() { return settings() + settings_ack(); }

inline std::string request_block() {
  return block({{":method", "POST"}, {":scheme", "http"}, {":path", "/a.B/C"}, {":authority", "h"}});
}
inline std::string response_block() { return block({{":status", "200"}}); }
inline std::string request(stream_id id, unsigned flags = end_headers) {
  return headers(id, request_block(), flags);
}
inline std::string response(stream_id id, unsigned flags = end_headers) {
  return headers(id, response_block(), flags);
}
inline std::string trailers(stream_id id) { return headers(id, block({{"grpc-status", "0"}}), end_both); }

}  // namespace coracle::http2::test::frames
