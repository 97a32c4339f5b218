// Frames as text, for tests to compare.
#pragma once

#include "coracle/base/bytes.hpp"
#include "http2/frame.hpp"
#include "http2/settings_frame.hpp"

#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace coracle::http2::test {

namespace spelling {

inline std::string number(std::uint64_t n) { return std::to_string(n); }
inline std::string code(std::string_view payload, std::size_t at) {
  return std::string(name_of(static_cast<error_code>(load_u32(as_bytes(payload).data() + at))));
}
// Long payloads are represented by their length.
inline std::string text(std::string_view bytes) {
  return bytes.size() > 40 ? "<" + number(bytes.size()) + ">" : "'" + std::string(bytes) + "'";
}

inline std::string settings(const frame_header& f, std::string_view payload) {
  std::string words = f.has(flag::ack) ? "SETTINGS ack" : "SETTINGS";
  for (; payload.size() >= 6; payload.remove_prefix(6)) {
    const unsigned id = static_cast<unsigned char>(payload[1]);
    words += " " + number(id) + "=" + number(load_u32(as_bytes(payload).data() + 2));
  }
  return words;
}

inline std::string one(const frame_header& f, std::string_view payload) {
  const std::uint8_t* const bytes = as_bytes(payload).data();
  const std::string id = number(f.id);
  const std::string end = f.has(flag::end_stream) ? " end" : "";
  switch (f.type) {
    case frame_type::data: return "DATA " + id + " " + text(payload) + end;
    case frame_type::headers: return "HEADERS " + id + end + (f.has(flag::end_headers) ? "" : " more");
    case frame_type::continuation: return "CONTINUATION " + id + (f.has(flag::end_headers) ? "" : " more");
    case frame_type::rst_stream: return "RST_STREAM " + id + " " + code(payload, 0);
    case frame_type::settings: return settings(f, payload);
    case frame_type::ping:
      return std::string(f.has(flag::ack) ? "PING ack " : "PING ") + number(load_u64(bytes));
    case frame_type::goaway:
      return "GOAWAY " + number(load_u32(bytes)) + " " + code(payload, 4) +
             (payload.size() > 8 ? " '" + std::string(payload.substr(8)) + "'" : "");
    case frame_type::window_update: return "WINDOW_UPDATE " + id + " +" + number(load_u32(bytes));
    default: return "frame of type " + number(static_cast<unsigned>(f.type));
  }
}

}  // namespace spelling

// Complete frames, optionally after a client's preface; one line each.
inline std::string spell_frames(std::string_view bytes) {
  std::string words;
  if (bytes.starts_with(client_preface)) bytes.remove_prefix(client_preface.size());
  while (!bytes.empty()) {
    if (bytes.size() < frame_header_bytes) return words + "half a frame header\n";
    const frame_header f = read_frame_header(as_bytes(bytes).data());
    bytes.remove_prefix(frame_header_bytes);
    if (bytes.size() < f.length) return words + "half a frame\n";
    words += spelling::one(f, bytes.substr(0, f.length)) + "\n";
    bytes.remove_prefix(f.length);
  }
  return words;
}

}  // namespace coracle::http2::test
