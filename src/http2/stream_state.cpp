// One row per state, one entry per input in the order of stream_input.
#include "http2/stream_state.hpp"

namespace coracle::http2 {

namespace {

using enum stream_state;

constexpr transition take(stream_state next) { return {next, stream_verdict::take, error_code::no_error}; }
constexpr transition drop(stream_state next) { return {next, stream_verdict::drop, error_code::no_error}; }
constexpr transition misuse(stream_state s) { return {s, stream_verdict::misuse, error_code::no_error}; }
constexpr transition kill(stream_state s, error_code code = error_code::protocol_error) {
  return {s, stream_verdict::connection_error, code};
}
// Answered with RST_STREAM(STREAM_CLOSED), which closes the stream on our side.
constexpr transition refuse = {reset_sent, stream_verdict::stream_error, error_code::stream_closed};

constexpr error_code closed = error_code::stream_closed;
constexpr stream_state local = half_closed_local;
constexpr stream_state remote = half_closed_remote;
constexpr stream_state ours = reset_sent;
constexpr stream_state theirs = reset_received;

}  // namespace

// Two lines per state. Received: HEADERS and DATA, each without and with END_STREAM, PRIORITY, RST_STREAM,
// PUSH_PROMISE, WINDOW_UPDATE. Sent: the same except PRIORITY and PUSH_PROMISE.
// clang-format off
const transition stream_transitions[stream_state_count][stream_input_count] = {
    // idle. RFC 9113 5.1: only HEADERS, which open it, and PRIORITY are permitted.
    {take(open), take(remote), kill(idle), kill(idle), drop(idle), kill(idle), kill(idle), kill(idle),
     take(open), take(local), misuse(idle), misuse(idle), misuse(idle), misuse(idle)},
    // open
    {take(open), take(remote), take(open), take(remote), drop(open), take(theirs), kill(open), take(open),
     take(open), take(local), take(open), take(local), take(ours), take(open)},
    // half_closed_local
    {take(local), take(ended), take(local), take(ended), drop(local), take(theirs), kill(local), take(local),
     misuse(local), misuse(local), misuse(local), misuse(local), take(ours), take(local)},
    // half_closed_remote. RFC 9113 5.1: the peer may only send WINDOW_UPDATE, PRIORITY and RST_STREAM.
    {refuse, refuse, refuse, refuse, drop(remote), take(theirs), kill(remote), take(remote),
     take(remote), take(ended), take(remote), take(ended), take(ours), misuse(remote)},
    // ended. Other frames after END_STREAM are the peer's error; RST_STREAM and WINDOW_UPDATE may have
    // crossed our END_STREAM.
    {kill(ended, closed), kill(ended, closed), kill(ended, closed), kill(ended, closed), drop(ended), drop(theirs), kill(ended), drop(ended),
     misuse(ended), misuse(ended), misuse(ended), misuse(ended), misuse(ended), misuse(ended)},
    // reset_sent. RFC 9113 5.4.2: the peer may have sent anything before it saw our RST_STREAM.
    {drop(ours), drop(ours), drop(ours), drop(ours), drop(ours), drop(theirs), kill(ours), drop(ours),
     misuse(ours), misuse(ours), misuse(ours), misuse(ours), misuse(ours), misuse(ours)},
    // reset_received. The peer must send nothing after its own RST_STREAM; we answer only the first
    // violation.
    {refuse, refuse, refuse, refuse, drop(theirs), drop(theirs), kill(theirs), drop(theirs),
     misuse(theirs), misuse(theirs), misuse(theirs), misuse(theirs), misuse(theirs), misuse(theirs)},
    // forgotten: perhaps reset by us, so all frames are tolerated.
    {drop(forgotten), drop(forgotten), drop(forgotten), drop(forgotten), drop(forgotten), drop(forgotten), kill(forgotten), drop(forgotten),
     misuse(forgotten), misuse(forgotten), misuse(forgotten), misuse(forgotten), misuse(forgotten), misuse(forgotten)},
    // skipped. RFC 9113 5.1.1: a stream with an id below the highest cannot be opened any more.
    {kill(skipped), kill(skipped), kill(skipped), kill(skipped), drop(skipped), drop(skipped), kill(skipped), drop(skipped),
     misuse(skipped), misuse(skipped), misuse(skipped), misuse(skipped), misuse(skipped), misuse(skipped)},
};
// clang-format on

const char* name_of(stream_state s) noexcept {
  switch (s) {
    case idle: return "idle";
    case open: return "open";
    case half_closed_local: return "half-closed (local)";
    case half_closed_remote: return "half-closed (remote)";
    default: return "closed";
  }
}

}  // namespace coracle::http2
