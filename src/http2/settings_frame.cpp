#include "http2/settings_frame.hpp"

#include "http2/frame.hpp"

#include <algorithm>

namespace coracle::http2 {

namespace {

constexpr std::size_t entry_bytes = 6;

settings_fault read_entry(setting id, std::uint32_t value, bool sent_by_server,
                          settings_values& values) noexcept {
  switch (id) {
    case setting::header_table_size:
      values.header_table_bytes = value;
      values.header_table_bytes_lowest = std::min(values.header_table_bytes_lowest, value);
      break;
    case setting::enable_push:
      // RFC 9113 6.5.2: 0 or 1; servers must send 0. We never push, so a client's value is not stored.
      if (value > 1 || (sent_by_server && value == 1))
        return {error_code::protocol_error, "SETTINGS_ENABLE_PUSH is not a permitted value (RFC 9113 6.5.2)"};
      break;
    case setting::max_concurrent_streams: values.max_concurrent_streams = value; break;
    case setting::initial_window_size:
      if (value > window_bytes_max)
        return {error_code::flow_control_error,
                "SETTINGS_INITIAL_WINDOW_SIZE exceeds 2^31-1 (RFC 9113 6.5.2)"};
      values.initial_window_bytes = value;
      break;
    case setting::max_frame_size:
      if (value < frame_bytes_min_max || value > frame_bytes_max_max)
        return {error_code::protocol_error,
                "SETTINGS_MAX_FRAME_SIZE is not from 2^14 to 2^24-1 (RFC 9113 6.5.2)"};
      values.max_frame_bytes = value;
      break;
    case setting::max_header_list_size: values.header_list_bytes = value; break;
    default: break;  // RFC 9113 6.5.2: unknown parameters are ignored
  }
  return {};
}

std::uint8_t* write_entry(std::uint8_t* to, setting id, std::uint32_t value) noexcept {
  to[0] = 0;
  to[1] = static_cast<std::uint8_t>(id);
  store_u32(to + 2, value);
  return to + entry_bytes;
}

}  // namespace

settings_fault read_settings(bytes_view payload, bool sent_by_server, settings_values& values) noexcept {
  if (payload.size() % entry_bytes != 0)
    return {error_code::frame_size_error, "SETTINGS length is not a multiple of 6 (RFC 9113 6.5)"};
  values.header_table_bytes_lowest = values.header_table_bytes;
  for (; !payload.empty(); payload = payload.subspan(entry_bytes)) {
    const auto id = static_cast<setting>(payload[0] << 8 | payload[1]);
    const settings_fault fault = read_entry(id, load_u32(payload.data() + 2), sent_by_server, values);
    if (fault.code != error_code::no_error) return fault;
  }
  return {};
}

std::uint8_t* write_settings(std::uint8_t* to, const limits& l, bool server) noexcept {
  constexpr settings_values initial;
  std::uint8_t* out = to + frame_header_bytes;
  if (l.header_table_bytes != initial.header_table_bytes)
    out = write_entry(out, setting::header_table_size, l.header_table_bytes);
  // RFC 9113 8.4: only servers push, so only a client disables push.
  if (server) out = write_entry(out, setting::max_concurrent_streams, l.max_concurrent_streams);
  else out = write_entry(out, setting::enable_push, 0);
  if (l.initial_window_bytes != initial.initial_window_bytes)
    out = write_entry(out, setting::initial_window_size, l.initial_window_bytes);
  if (l.max_frame_bytes != initial.max_frame_bytes)
    out = write_entry(out, setting::max_frame_size, l.max_frame_bytes);
  out = write_entry(out, setting::max_header_list_size, l.header_list_bytes);
  const auto length = static_cast<std::size_t>(out - to) - frame_header_bytes;
  write_frame_header(to, length, frame_type::settings, flag::none, 0);
  return out;
}

}  // namespace coracle::http2
