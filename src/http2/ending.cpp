// How a connection ends, well or not, and the events that are due without a frame.
#include "http2/connection_state.hpp"

#include <algorithm>
#include <utility>

namespace coracle::http2 {

namespace {
// Marks the PING behind the first GOAWAY; its ack tells that the client has seen it.
constexpr std::uint64_t drain_ping = 0x636f7261636c6521;
// Of limits::keepalive; its answer is as good as any other byte.
constexpr std::uint64_t keepalive_ping = 0x616c6976653f2121;
}  // namespace

// RFC 9113 5.4.1.
void connection::state::fail(error_code code, std::string_view reason, initiator by) noexcept {
  if (failed) return;
  if (std::exchange(head_stream, nullptr)) output.retract(output.size() - head_at);  // it never becomes whole
  try {
    write_goaway(last_given_id, code, reason);
  } catch (const std::bad_alloc&) {
    // The peer learns it from the end of the byte stream.
  }
  end_everything(code, by == initiator::user ? std::string_view("closed by the user") : reason, by);
}

void connection::state::out_of_memory() noexcept {
  fail(error_code::enhance_your_calm, "out of memory", initiator::library);
}

connection::state::progress connection::state::die(error_code code, std::string_view reason) noexcept {
  fail(code, reason, initiator::library);
  return progress::again;
}

void connection::state::end_everything(error_code code, std::string_view reason, initiator by,
                                       stream_id unsent_from) noexcept {
  if (failed) return;
  failed = true;
  in = {};
  block_open = block_good = false;
  // A block that could not be read may have ended its stream on the wire, and its user waits for what it says.
  if (stream* const unread = std::exchange(block_stream, nullptr);
      unread && unread->state == stream_state::ended)
    end(*unread, stream_state::ended, code, by, reason);
  goaway_first = false;
  settings_pending = slots_pending = goaway_pending = false;
  const stream_ref bound = streams.bound();
  for (stream_ref i = 0; i < bound; ++i) {
    if (!streams.live(i) || is_closed(streams[i].state)) continue;
    stream& s = streams[i];
    // Writable events of streams that have ended well stay: nothing else would come for them.
    end(s, stream_state::reset_sent, code, by, reason,
        side == role::client && (s.id == 0 || s.id >= unsent_from));
  }
  failed_pending = pending = true;
  failed_code = code;
  failed_by = by;
  failed_reason = reason;
}

// To a server that is a client's cancellation, to a client the failure of what lies between.
void connection::state::feed_end() noexcept {
  if (side == role::server) return end_everything(error_code::cancel, "connection closed", initiator::peer);
  // Nobody could answer it any more; and so it surely was not seen.
  if (!failed) output.clear();
  end_everything(error_code::internal_error, "connection closed", initiator::peer, kept_from);
}

// RFC 9113 6.8: the first GOAWAY lets streams in that are on their way; a round trip later the final one can
// say which is the last.
void connection::state::drain() {
  if (failed || draining) return;
  draining = true;
  if (side == role::client) return;
  goaway_first = true;
  if (open_count == 0) drained_at = last_given_id;
  write_goaway(stream_id_max, error_code::no_error, {});
  write_ping(drain_ping, false);
  drain_deadline = deadline_after(now, limit.drain_timeout);
}

void connection::state::drain_now() {
  draining = true;
  if (failed || goaway_final || side == role::client) return;
  goaway_first = false;
  goaway_final = true;
  goaway_last_id = last_given_id;
  drain_deadline = never;
  write_goaway(goaway_last_id, error_code::no_error, {});
}

bool connection::state::is_drain_ping(std::uint64_t opaque) const noexcept {
  return goaway_first && opaque == drain_ping;
}
bool connection::state::answers_keepalive(std::uint64_t opaque) noexcept {
  return opaque == keepalive_ping && alive.answered();
}

time_point connection::state::next_timeout() const noexcept {
  if (failed) return never;
  return std::min({settings_acked ? never : settings_deadline, drain_deadline, block_deadline, alive.next()});
}

void connection::state::on_timeout(time_point at) {
  now = at;
  if (failed) return;
  // RFC 9113 6.5.3.
  if (!settings_acked && at >= settings_deadline)
    return fail(error_code::settings_timeout, "SETTINGS were not acknowledged", initiator::library);
  if (at >= block_deadline)
    return fail(error_code::enhance_your_calm, "a frame was begun and not ended in time", initiator::library);
  if (at >= drain_deadline) drain_now();
  ask_if_alive();
}

void connection::state::ask_if_alive() {
  switch (alive.on_time(now, open_count != 0)) {
    case keepalive::verdict::nothing: return;
    case keepalive::verdict::ping: return write_ping(keepalive_ping, false);
    case keepalive::verdict::dead:
      return fail(error_code::no_error, "the peer did not answer a keepalive PING", initiator::library);
  }
}

// All that came is read. A header block or a frame that is no DATA costs its peer next to nothing while it is
// held up, and us a buffer: it is given a time. DATA is passed on as it comes.
void connection::state::watch_unfinished() noexcept {
  const bool unfinished =
      partial_bytes != 0 || reading == phase::request_line || reading == phase::payload || block_id != 0;
  if (!unfinished) block_deadline = never;
  else if (block_deadline == never) block_deadline = deadline_after(now, limit.header_timeout);
}

bool connection::state::take_pending(event& e) {
  if (auto* hook = resets.pop_front()) {
    const stream& s = *static_cast<stream*>(hook);
    e.what = event::kind::reset;
    e.stream = s.ref;
    e.id = s.id;
    e.user = s.user;
    e.code = s.end_code;
    e.by = s.end_by;
    e.reason = s.end_reason;
    e.unprocessed = s.end_unprocessed;
    return true;
  }
  if (std::exchange(goaway_pending, false)) {
    e.what = event::kind::goaway;
    e.code = goaway_code;
    e.data = goaway_debug;
    return true;
  }
  if (std::exchange(settings_pending, false)) {
    e.what = event::kind::settings;
    return true;
  }
  if (std::exchange(slots_pending, false) && can_open()) {
    e.what = event::kind::slots;
    return true;
  }
  if (auto* hook = writables.pop_front()) {
    const stream& s = *static_cast<stream*>(hook);
    e.what = event::kind::writable;
    e.stream = s.ref;
    e.id = s.id;
    e.user = s.user;
    return true;
  }
  pending = false;
  if (!std::exchange(failed_pending, false)) return false;
  e.what = event::kind::failed;
  e.code = failed_code;
  e.by = failed_by;
  e.reason = failed_reason;
  return true;
}

}  // namespace coracle::http2
