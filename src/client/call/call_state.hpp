// call_state: the life of a client's call as a table: what each event makes of each state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace coracle::client {

//   made ------- begin ------> open ------------------+
//    |                          | close_requested     | close_sent
//    | close_requested          v                     v
//   made_closing -- begin --> closing - close_sent -> half_closed        each of these -- end --> ended
//                               ^                     |
//                               +----- send_again ----+
//
//   ended -- reply_deferred --> reply_waits -- reply_read --> ended
//                                    | reply_dropped
//                                    v
//                               reply_cancelled
//
// An event that is not drawn changes nothing.
enum class call_state : std::uint8_t {
  made,
  made_closing,     // its only request is known before it begins
  open,
  closing,          // the caller has written everything, but no stream exists to send the end on
  half_closed,      // the end of the caller's side is sent, or recorded for every attempt
  ended,            // the status is known; a call that is cancelled may end without having begun
  reply_waits,      // ended, but the reply waits to be decoded, so that the status may change
  reply_cancelled,  // ended, and the caller no longer wants that reply
};
inline constexpr std::size_t call_state_count = 8;

enum class call_event : std::uint8_t {
  begin,
  close_requested,
  close_sent,
  send_again,  // a transparent retry (gRFC A6): what was sent is sent on another stream
  end,
  reply_deferred,
  reply_read,
  reply_dropped,
};
inline constexpr std::size_t call_event_count = 8;

using call_state_table = std::array<std::array<call_state, call_event_count>, call_state_count>;
extern const call_state_table call_transitions;

[[nodiscard]] inline call_state after(call_state s, call_event e) noexcept {
  return call_transitions[static_cast<std::size_t>(s)][static_cast<std::size_t>(e)];
}

// Whether the call has a status.
[[nodiscard]] constexpr bool is_over(call_state s) noexcept { return s >= call_state::ended; }
// Whether the caller may still write.
[[nodiscard]] constexpr bool may_write(call_state s) noexcept {
  return s == call_state::made || s == call_state::open;
}

}  // namespace coracle::client
