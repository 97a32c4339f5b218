// One row per state, one entry per input in the order of stream_input.
#include "http2/stream_state.hpp"

namespace coracle::http2 {

namespace {

using enum stream_state;

constexpr transition take(stream_state next) { return {next, stream_verdict::take, error_code::no_error}; }
constexpr transition drop(stream_state next) { return {next, stream_verdict::drop, error_code::no_error}; }
constexpr transition misuse(stream_state s) { return {s, stream_verdict::misuse, error_code::no_error}; }
constexpr transition kill(stream_state s, error_code code) { return {s, stream_verdict::connection_error, code}; }
// Answered with RST_STREAM(STREAM_CLOSED), which closes it on our side.
constexpr transition refuse = {reset_sent, stream_verdict::stream_error, error_code::stream_closed};

constexpr error_code protocol = error_code::protocol_error;
constexpr error_code closed = error_code::stream_closed;

}  // namespace

const transition stream_transitions[stream_state_count][stream_input_count] = {
    // idle. RFC 9113 5.1: "any frame other than HEADERS or PRIORITY ... PROTOCOL_ERROR"
    {take(open), take(half_closed_remote), kill(idle, protocol), kill(idle, protocol), drop(idle), kill(idle, protocol),
     kill(idle, protocol), kill(idle, protocol),  //
     take(open), take(half_closed_local), misuse(idle), misuse(idle), misuse(idle), misuse(idle)},
    // open
    {take(open), take(half_closed_remote), take(open), take(half_closed_remote), drop(open), take(reset_received),
     kill(open, protocol), take(open),  //
     take(open), take(half_closed_local), take(open), take(half_closed_local), take(reset_sent), take(open)},
    // half_closed_local
    {take(half_closed_local), take(ended), take(half_closed_local), take(ended), drop(half_closed_local),
     take(reset_received), kill(half_closed_local, protocol), take(half_closed_local),  //
     misuse(half_closed_local), misuse(half_closed_local), misuse(half_closed_local), misuse(half_closed_local),
     take(reset_sent), take(half_closed_local)},
    // half_closed_remote. RFC 9113 5.1: more than WINDOW_UPDATE, PRIORITY and RST_STREAM is STREAM_CLOSED
    {refuse, refuse, refuse, refuse, drop(half_closed_remote), take(reset_received), kill(half_closed_remote, protocol),
     take(half_closed_remote),  //
     take(half_closed_remote), take(ended), take(half_closed_remote), take(ended), take(reset_sent),
     misuse(half_closed_remote)},
    // ended. Frames behind END_STREAM can only be the peer's error; RST_STREAM and WINDOW_UPDATE may have crossed
    // our END_STREAM.
    {kill(ended, closed), kill(ended, closed), kill(ended, closed), kill(ended, closed), drop(ended),
     drop(reset_received), kill(ended, protocol), drop(ended),  //
     misuse(ended), misuse(ended), misuse(ended), misuse(ended), misuse(ended), misuse(ended)},
    // reset_sent. RFC 9113 5.4.2: the peer may have sent anything before it saw our RST_STREAM.
    {drop(reset_sent), drop(reset_sent), drop(reset_sent), drop(reset_sent), drop(reset_sent), drop(reset_received),
     kill(reset_sent, protocol), drop(reset_sent),  //
     misuse(reset_sent), misuse(reset_sent), misuse(reset_sent), misuse(reset_sent), misuse(reset_sent),
     misuse(reset_sent)},
    // reset_received. Nothing may follow the peer's own RST_STREAM; after one answer we stop telling it so.
    {refuse, refuse, refuse, refuse, drop(reset_received), drop(reset_received), kill(reset_received, protocol),
     drop(reset_received),  //
     misuse(reset_received), misuse(reset_received), misuse(reset_received), misuse(reset_received),
     misuse(reset_received), misuse(reset_received)},
    // forgotten: perhaps reset by us, so everything is borne.
    {drop(forgotten), drop(forgotten), drop(forgotten), drop(forgotten), drop(forgotten), drop(forgotten),
     kill(forgotten, protocol), drop(forgotten),  //
     misuse(forgotten), misuse(forgotten), misuse(forgotten), misuse(forgotten), misuse(forgotten), misuse(forgotten)},
    // skipped. RFC 9113 5.1.1: an id below the highest cannot be opened any more.
    {kill(skipped, protocol), kill(skipped, protocol), kill(skipped, protocol), kill(skipped, protocol), drop(skipped),
     drop(skipped), kill(skipped, protocol), drop(skipped),  //
     misuse(skipped), misuse(skipped), misuse(skipped), misuse(skipped), misuse(skipped), misuse(skipped)},
};

}  // namespace coracle::http2
