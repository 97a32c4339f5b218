// Everything that a peer can make grow or repeat, with its bound. Each has a test by its name.
#pragma once

#include "coracle/base/clock.hpp"

#include <chrono>
#include <cstdint>

namespace coracle::http2 {

using std::chrono_literals::operator""s;

struct limits {
  // Advertised in our SETTINGS.
  std::uint32_t max_concurrent_streams = 1000;       // a peer's open streams; one above is REFUSED_STREAM
  std::uint32_t initial_window_bytes = 1u << 20;     // per stream, receiving
  std::uint32_t connection_window_bytes = 4u << 20;  // per connection, receiving
  std::uint32_t max_frame_bytes = 1u << 14;          // SETTINGS_MAX_FRAME_SIZE we accept: RFC 9113's own default
  std::uint32_t header_table_bytes = 4096;           // the decoder's dynamic table
  std::uint32_t header_list_bytes = 16u << 10;       // soft: beyond it, fields are decoded and discarded, the stream fails

  // Ours alone.
  std::uint32_t own_streams = 1u << 30;              // client: opened in the connection's whole life; more ids there are not
  std::uint32_t header_block_bytes = 64u << 10;      // hard, on encoded bytes over HEADERS and CONTINUATION: connection error
  std::uint32_t continuations = 16;                  // frames per block (CVE-2024-27316)
  std::uint32_t encoder_table_bytes = 4096;          // what we use of the peer's SETTINGS_HEADER_TABLE_SIZE
  // Token buckets: each of these costs one token, refilled per second; an empty bucket is
  // ENHANCE_YOUR_CALM. Honest peers stay far below.
  std::uint32_t resets_burst = 200;                  // RST_STREAM received, or caused by the peer's fault (CVE-2023-44487, CVE-2025-8671)
  std::uint32_t resets_per_second = 100;
  std::uint32_t control_frames_burst = 1000;         // SETTINGS, PING, PRIORITY, zero-use WINDOW_UPDATE, unknown frames
  std::uint32_t control_frames_per_second = 500;
  std::uint32_t empty_frames_burst = 100;            // DATA and HEADERS/CONTINUATION that carry nothing and end nothing
  std::uint32_t empty_frames_per_second = 50;
  std::uint32_t output_bytes = 1u << 20;             // answers to control frames (PING and SETTINGS acks) unread by the peer
  duration settings_timeout = 20s;                   // until the peer acknowledges our SETTINGS
  duration drain_timeout = 5s;                       // from the first GOAWAY to the final one if the PING between stays unanswered
};

}  // namespace coracle::http2
