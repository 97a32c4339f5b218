// limits: the bound of everything that a peer can make grow or repeat. Each has a test with its name.
#pragma once

#include "coracle/base/clock.hpp"
#include "http2/keepalive.hpp"

#include <chrono>
#include <cstdint>

namespace coracle::http2 {

using std::chrono_literals::operator""s;

struct limits {
  // --- advertised in our SETTINGS
  // The maximum number of the peer's open streams; further ones are refused with REFUSED_STREAM.
  std::uint32_t max_concurrent_streams = 1000;
  // Receive windows of each stream and of the connection. Data in flight delays the next small response; this
  // size keeps a fast link within one machine or room busy, and longer links make the window grow
  // (grown_window_bytes).
  std::uint32_t initial_window_bytes = 1u << 20;
  std::uint32_t connection_window_bytes = 384u << 10;
  // The SETTINGS_MAX_FRAME_SIZE that we accept: the default of RFC 9113.
  std::uint32_t max_frame_bytes = 1u << 14;
  // The size of the decoder's dynamic table.
  std::uint32_t header_table_bytes = 4096;
  // Soft limit: fields beyond it are decoded and discarded, and the stream is reset with ENHANCE_YOUR_CALM.
  std::uint32_t header_list_bytes = 16u << 10;

  // --- not advertised
  // Client: the maximum number of streams opened during the connection's life; there are no more ids.
  std::uint32_t own_streams = 1u << 30;
  // Client: the maximum number of open streams, even if the peer allows more.
  std::uint32_t own_open_streams = ~std::uint32_t{0};
  // Client: how many streams release() resets at once. Servers close a connection that resets many
  // (CVE-2023-44487), with all calls on it: ours above 1,000 per second, nghttp2 above 1,000 at once, and
  // hyper above 20 that it has not begun to handle. Further streams stay open without a user until it is
  // their turn; most end by themselves meanwhile.
  std::uint16_t own_resets_burst = 500;
  std::uint16_t own_resets_per_second = 500;
  // Those among them that were opened less than 100 ms before and have not been answered: servers
  // tolerate fewer resets of requests that they have just received.
  std::uint16_t own_early_resets_burst = 20;
  std::uint16_t own_early_resets_per_second = 50;
  // Hard limit on encoded bytes across HEADERS and CONTINUATION; exceeding it is a connection error.
  std::uint32_t header_block_bytes = 64u << 10;
  // The maximum number of CONTINUATION frames per block (CVE-2024-27316).
  std::uint32_t continuations = 16;
  // Client: the maximum number of interim responses (1xx) that precede a stream's response (RFC 9113 8.1).
  // gRPC uses none; a proxy may send a few. Another one resets the stream with ENHANCE_YOUR_CALM.
  std::uint16_t interim_responses = 16;
  // The size to which the windows of a connection, and of streams that are being read, grow if the product of
  // bandwidth and delay requires it. At least half of a window is in flight: 3 Gbit/s over 20 ms.
  std::uint32_t grown_window_bytes = 16u << 20;
  // The maximum that we use of the peer's SETTINGS_HEADER_TABLE_SIZE.
  std::uint32_t encoder_table_bytes = 4096;

  // Token buckets: each of these events costs one token, and tokens are refilled every second; an empty
  // bucket fails the connection with ENHANCE_YOUR_CALM. Well-behaved peers stay far below.
  // Server: RST_STREAM on streams that we have not answered, or caused by the peer's violation
  // (CVE-2023-44487, CVE-2025-8671). Well above what well-behaved clients with short deadlines cancel under
  // overload, and a thousandth of what an attack needs.
  std::uint32_t resets_burst = 1000;
  std::uint32_t resets_per_second = 1000;
  // Those on streams that were opened in the same iteration of the loop, before any response was possible.
  // Every connection of an attacker can cause this much work before it is closed, so the limit is only what a
  // loop that was blocked receives from a well-behaved client.
  std::uint32_t early_resets_burst = 200;
  std::uint32_t early_resets_per_second = 100;
  // SETTINGS, PING, PRIORITY, GOAWAY, unknown frames; WINDOW_UPDATE in excess of what our DATA causes; frames
  // on streams that were closed long ago.
  std::uint32_t control_frames_burst = 1000;
  std::uint32_t control_frames_per_second = 500;
  // DATA and HEADERS/CONTINUATION frames that carry nothing and end nothing.
  std::uint32_t empty_frames_burst = 100;
  std::uint32_t empty_frames_per_second = 50;
  // Answers to control frames (acks of PING and SETTINGS, RST_STREAM) that the peer has not read.
  std::uint32_t output_bytes = 1u << 20;
  // The time within which the peer must acknowledge our SETTINGS.
  duration settings_timeout = 20s;
  // The time from the first GOAWAY to the final one if the PING between them is not acknowledged.
  duration drain_timeout = 5s;
  // The time from the first octet of a header block, or of another frame except DATA, to its last octet.
  duration header_timeout = 20s;
  // keepalive is off by default. pings: a server's limits on the peer's PINGs.
  keepalive_options keepalive;
  ping_rules pings;
};

// What a channel permits in place of header_block_bytes and continuations. The headers and trailers of one
// call must not end the connection, which carries the calls of others: what exceeds header_list_bytes is
// decoded and dropped up to this size. A connection holds 2.6 times as much while it reads such a block.
inline constexpr std::uint32_t response_block_bytes_max = 1u << 20;
inline constexpr std::uint32_t response_continuations_max = 128;
// The same for the requests of a server, which has many more peers than a channel. Some clients send all the
// metadata that they are given, whatever the server accepts.
inline constexpr std::uint32_t request_block_bytes_max = 256u << 10;
inline constexpr std::uint32_t request_continuations_max = 32;

}  // namespace coracle::http2
