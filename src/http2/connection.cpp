#include "http2/connection.hpp"

#include <algorithm>

namespace coracle::http2 {

namespace {

// What the wire cannot say is brought into range.
limits sound(limits l) {
  l.initial_window_bytes = std::min(l.initial_window_bytes, window_bytes_max);
  l.connection_window_bytes = std::clamp(l.connection_window_bytes, default_window_bytes, window_bytes_max);
  l.grown_window_bytes = std::min(l.grown_window_bytes, window_bytes_max);
  l.max_frame_bytes = std::clamp(l.max_frame_bytes, frame_bytes_min_max, frame_bytes_max_max);
  l.header_table_bytes = std::min(l.header_table_bytes, hpack::table_bytes_max);
  l.own_streams = std::min(l.own_streams, (stream_id_max >> 1) + 1);  // the odd ids
  return l;
}

// A client may count on at least so many streams before the server's SETTINGS are there (RFC 9113 6.5.2
// recommends to allow no fewer).
constexpr std::uint32_t streams_before_settings = 100;

}  // namespace

connection::connection(role r, const limits& l, time_point now)
    : side_(r),
      limit_(sound(l)),
      now_(now),
      reading_(r == role::server ? phase::preface : phase::header),
      reader_(limit_.header_list_bytes),
      settings_deadline_(deadline_after(now, limit_.settings_timeout)),
      // Until the peer has acknowledged our SETTINGS either value may be in force there (RFC 9113 6.5.3).
      stream_receive_bytes_(std::max(limit_.initial_window_bytes, default_window_bytes)),
      encoder_(limit_.encoder_table_bytes),
      path_(now),
      alive_(limit_.keepalive, now),
      reset_tokens_(now),
      early_reset_tokens_(now),
      control_tokens_(now),
      empty_tokens_(now) {
  if (side_ == role::client) {
    output_.append(as_bytes(client_preface));
    peer_.max_concurrent_streams = streams_before_settings;
  }
  std::uint8_t* const out = output_.reserve(settings_frame_bytes_max);
  output_.commit(static_cast<std::size_t>(write_settings(out, limit_, side_ == role::server) - out));
  // RFC 9113 6.9.2: the connection's window starts at 65535 whatever SETTINGS say.
  if (const std::uint32_t more = limit_.connection_window_bytes - default_window_bytes) {
    write_window_update(0, more);
    receive_.resize(limit_.connection_window_bytes);
  }
}

}  // namespace coracle::http2
