#include "tools/frames/frame_names.hpp"

#include <array>

namespace coracle::tools {

std::string names_of_flags(std::uint8_t type, std::uint8_t flags) {
  std::string text;
  const auto add = [&](std::uint8_t flag, std::string_view name) {
    if ((flags & flag) != 0) text.append(text.empty() ? "" : " ").append(name);
  };
  const bool has_fields = type == frame_types::headers;
  const bool has_ack = type == frame_types::settings || type == frame_types::ping;
  if (has_ack) add(frame_flags::ack, "ACK");
  if (has_fields || type == frame_types::data) add(frame_flags::end_stream, "END_STREAM");
  if (has_fields || type == frame_types::continuation) add(frame_flags::end_headers, "END_HEADERS");
  if (has_fields || type == frame_types::data) add(frame_flags::padded, "PADDED");
  if (has_fields) add(frame_flags::priority, "PRIORITY");
  return text;
}

std::string name_of_error(std::uint32_t code) {
  static constexpr std::array<std::string_view, 14> names{"NO_ERROR",
                                                          "PROTOCOL_ERROR",
                                                          "INTERNAL_ERROR",
                                                          "FLOW_CONTROL_ERROR",
                                                          "SETTINGS_TIMEOUT",
                                                          "STREAM_CLOSED",
                                                          "FRAME_SIZE_ERROR",
                                                          "REFUSED_STREAM",
                                                          "CANCEL",
                                                          "COMPRESSION_ERROR",
                                                          "CONNECT_ERROR",
                                                          "ENHANCE_YOUR_CALM",
                                                          "INADEQUATE_SECURITY",
                                                          "HTTP_1_1_REQUIRED"};
  return code < names.size() ? std::string(names[code]) : "code " + std::to_string(code);
}

}  // namespace coracle::tools
