// Everything that a peer can make grow or repeat, with its bound. Each has a test by its name.
#pragma once

#include "coracle/base/clock.hpp"
#include "http2/keepalive.hpp"
#include "http2/ping_strikes.hpp"

#include <chrono>
#include <cstdint>

namespace coracle::http2 {

using std::chrono_literals::operator""s;

struct limits {
  // --- advertised in our SETTINGS
  // A peer's open streams; one above is REFUSED_STREAM.
  std::uint32_t max_concurrent_streams = 1000;
  // Receiving, per stream and per connection. What a connection has on its way stands before the next small reply; so
  // much keeps a fast link within one machine or room busy, and longer ones make it grow (grown_window_bytes).
  std::uint32_t initial_window_bytes = 1u << 20;
  std::uint32_t connection_window_bytes = 384u << 10;
  // SETTINGS_MAX_FRAME_SIZE that we accept: RFC 9113's own default.
  std::uint32_t max_frame_bytes = 1u << 14;
  // The decoder's dynamic table.
  std::uint32_t header_table_bytes = 4096;
  // Soft: beyond it fields are decoded and discarded, and the stream is reset with ENHANCE_YOUR_CALM.
  std::uint32_t header_list_bytes = 16u << 10;

  // --- ours alone
  // Client: streams opened in the connection's whole life; there are no more ids.
  std::uint32_t own_streams = 1u << 30;
  // Client: streams open at a time, where the peer allows more.
  std::uint32_t own_open_streams = ~std::uint32_t{0};
  // Hard, on encoded bytes over HEADERS and CONTINUATION: connection error.
  std::uint32_t header_block_bytes = 64u << 10;
  // Frames per block (CVE-2024-27316).
  std::uint32_t continuations = 16;
  // Client: interim responses (1xx) of one stream, which precede its response (RFC 9113 8.1). gRPC has none; a proxy may
  // send a few. One more resets the stream with ENHANCE_YOUR_CALM.
  std::uint16_t interim_responses = 16;
  // To which the windows of a connection, and of its streams that are being read, grow where bandwidth times delay calls
  // for it. Half of a window is on its way at the least: 3 Gbit/s over 20 ms.
  std::uint32_t grown_window_bytes = 16u << 20;
  // What we use of the peer's SETTINGS_HEADER_TABLE_SIZE.
  std::uint32_t encoder_table_bytes = 4096;

  // Token buckets: each of these costs one token, refilled per second; an empty bucket is
  // ENHANCE_YOUR_CALM. Honest peers stay far below.
  // Server: RST_STREAM on what we have not answered, or caused by the peer's fault (CVE-2023-44487,
  // CVE-2025-8671). Well above what honest clients with short deadlines cancel under overload, and a
  // thousandth of what an attack needs.
  std::uint32_t resets_burst = 1000;
  std::uint32_t resets_per_second = 1000;
  // Of these, on streams that were opened in the same turn of the loop: nobody could have had an answer by then. Each
  // connection of an attacker may cost us so much before it is closed, so it is no more than what a loop that stood
  // still finds of an honest client.
  std::uint32_t early_resets_burst = 200;
  std::uint32_t early_resets_per_second = 100;
  // SETTINGS, PING, PRIORITY, GOAWAY, unknown frames; WINDOW_UPDATE beyond what our DATA calls for; frames on
  // streams that were closed long ago.
  std::uint32_t control_frames_burst = 1000;
  std::uint32_t control_frames_per_second = 500;
  // DATA and HEADERS/CONTINUATION that carry nothing and end nothing.
  std::uint32_t empty_frames_burst = 100;
  std::uint32_t empty_frames_per_second = 50;
  // Answers to control frames (acks of PING and SETTINGS, RST_STREAM) unread by the peer.
  std::uint32_t output_bytes = 1u << 20;
  // Until the peer acknowledges our SETTINGS.
  duration settings_timeout = 20s;
  // From the first GOAWAY to the final one if the PING between stays unanswered.
  duration drain_timeout = 5s;
  // From the first octet of a header block, or of another frame that is no DATA, to its last.
  duration header_timeout = 20s;
  // Off unless told; server: the peer's PINGs.
  keepalive_options keepalive;
  ping_rules pings;
};

}  // namespace coracle::http2
