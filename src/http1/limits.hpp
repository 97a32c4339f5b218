// limits: the bound of everything that a peer can make grow, repeat or delay. Each has a test with its name.
#pragma once

#include "coracle/base/clock.hpp"

#include <chrono>
#include <cstdint>
#include <limits>

namespace coracle::http1 {

using std::chrono_literals::operator""s;

struct limits {
  // --- sizes
  // The request or status line with its CRLF. RFC 9112 3 recommends at least 8,000. A longer request line
  // fails with 414.
  std::uint32_t line_bytes = 8u << 10;
  // The field lines of a message's headers with their CRLFs, as http2::limits::header_list_bytes: 431.
  std::uint32_t header_bytes = 16u << 10;
  // The number of field lines, in the headers and in the trailers. Browsers behind two proxies send about 40:
  // 431.
  std::uint32_t header_fields = 128;
  // The empty lines before a request line. RFC 9112 2.2 asks for one, which old clients send after a body:
  // 400.
  std::uint32_t empty_lines = 2;
  // The line of a chunk with its size, its extensions and its CRLF. No common peer sends extensions: 400.
  std::uint32_t chunk_line_bytes = 256;
  // The extensions of all chunks of a body (CVE-2023-39326): 400.
  std::uint32_t chunk_extension_bytes = 16u << 10;
  // The field lines of the trailers with their CRLFs: 431. gRPC's trailers fit into a quarter of it.
  std::uint32_t trailer_bytes = 8u << 10;
  // The body of a message: 413. Unlimited, because the layers above limit messages.
  std::uint64_t body_bytes = std::numeric_limits<std::uint64_t>::max();
  // Client: the interim responses (1xx) that precede a response, as http2::limits::interim_responses.
  std::uint16_t interim_responses = 16;
  // Server: the rest of a request body that is read and dropped after the response, so that the connection
  // can be reused. Reading it takes less than a new connection; a longer rest closes the connection.
  std::uint32_t drain_bytes = 64u << 10;
  // The headers that are kept in order to recognize the same headers in the next message. Longer ones are
  // parsed each time.
  std::uint32_t remembered_head_bytes = 1024;

  // --- times
  // The time from the first octet of a message to the end of its headers: 408.
  duration header_timeout = 20s;
  // Server: at least body_bytes_per_second must arrive on average in each period of this length while a body
  // is being read, as server_limits::stall_time asks of a message: 408. A stall is detected after one or two
  // periods. See connection::enforce_body_timeout().
  duration body_timeout = 60s;
  std::uint32_t body_bytes_per_second = 256;
};

// The limits of a channel. A response whose headers are larger than http1_options::header_list_bytes still
// tells how its call ended, so that its fields are read up to this size.
inline limits response_limits() noexcept {
  limits l;
  l.header_bytes = l.trailer_bytes = 1u << 20;
  l.header_fields = 8192;
  return l;
}

}  // namespace coracle::http1
