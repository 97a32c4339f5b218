// stream_state: the life of a stream (RFC 9113 5.1) as a table: the effect of each frame in each state.
#pragma once

#include "http2/error_code.hpp"

#include <cstddef>
#include <cstdint>

namespace coracle::http2 {

//                 H: HEADERS   ES: END_STREAM   R: RST_STREAM     (s) sent, (r) received
//
//                                 idle ---- a higher id is used first ----> skipped
//                                  | H
//                                  v
//             ES(s)    +--------- open ---------+   ES(r)
//          +-----------|           |            |-----------+
//          v                       |                        v
//   half_closed_local              | R(s), R(r)    half_closed_remote
//          |     |                 |                  |     |
//    ES(r) |     | R(s), R(r)      v       R(s), R(r) |     | ES(s)
//          |     +-----> reset_sent, reset_received <-+     |
//          +--------------------> ended <-------------------+
//
//   ended, reset_sent and reset_received are the state "closed" of RFC 9113. They are distinct because the
//   meaning of a late frame depends on how the stream closed; `forgotten` is a closed stream for which that
//   is no longer known. There are no reserved states: both roles reject push.
enum class stream_state : std::uint8_t {
  idle,
  open,
  half_closed_local,
  half_closed_remote,
  ended,
  reset_sent,
  reset_received,
  forgotten,
  skipped,
};
inline constexpr std::size_t stream_state_count = 9;

enum class stream_input : std::uint8_t {
  receive_headers,
  receive_headers_end,  // with END_STREAM
  receive_data,
  receive_data_end,
  receive_priority,
  receive_reset,
  receive_push_promise,
  receive_window_update,
  send_headers,
  send_headers_end,
  send_data,
  send_data_end,
  send_reset,
  send_window_update,
};
inline constexpr std::size_t stream_input_count = 14;

enum class stream_verdict : std::uint8_t {
  take,              // legal: apply it
  drop,              // legal or tolerated: no effect on the stream, counted for the connection
  stream_error,      // RST_STREAM with the code
  connection_error,  // GOAWAY with the code
  misuse,            // sending: not permitted in this state
};

struct transition {
  stream_state next = stream_state::idle;
  stream_verdict verdict = stream_verdict::misuse;
  error_code code = error_code::no_error;
};

extern const transition stream_transitions[stream_state_count][stream_input_count];

[[nodiscard]] inline const transition& transition_of(stream_state s, stream_input i) noexcept {
  return stream_transitions[static_cast<std::size_t>(s)][static_cast<std::size_t>(i)];
}

// The name of the state in RFC 9113 5.1.
[[nodiscard]] const char* name_of(stream_state s) noexcept;

[[nodiscard]] constexpr bool is_closed(stream_state s) noexcept { return s >= stream_state::ended; }
// Whether this side may still send HEADERS and DATA.
[[nodiscard]] constexpr bool may_send(stream_state s) noexcept {
  return s == stream_state::open || s == stream_state::half_closed_remote || s == stream_state::idle;
}
// Whether the peer may still send HEADERS and DATA.
[[nodiscard]] constexpr bool may_receive(stream_state s) noexcept {
  return s == stream_state::open || s == stream_state::half_closed_local;
}

}  // namespace coracle::http2
