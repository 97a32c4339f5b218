// How a connection ends, well or not, and the events that are due without a frame.
#include "http2/connection.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace coracle::http2 {

namespace {
// Marks the PING behind the first GOAWAY; its ack tells that the client has seen it.
constexpr std::uint64_t drain_ping = 0x636f7261636c6521;
// Of limits::keepalive; its answer is as good as any other byte.
constexpr std::uint64_t keepalive_ping = 0x616c6976653f2121;
}  // namespace

// RFC 9113 5.4.1.
void connection::fail(error_code code, std::string_view reason, initiator by) noexcept {
  if (failed_) return;
  if (std::exchange(head_stream_, nullptr))
    output_.retract(output_.size() - head_at_);  // it never becomes whole
  try {
    write_goaway(last_given_id_, code, reason);
  } catch (const std::bad_alloc&) {
    // The peer learns it from the end of the byte stream.
  }
  end_everything(code, by == initiator::user ? std::string_view("closed by the user") : reason, by);
}

void connection::fail(error_code code, std::string_view reason) noexcept {
  fail(code, reason, initiator::user);
}

void connection::out_of_memory() noexcept {
  fail(error_code::enhance_your_calm, "out of memory", initiator::library);
}

connection::progress connection::die(error_code code, std::string_view reason) noexcept {
  fail(code, reason, initiator::library);
  return progress::again;
}

void connection::end_everything(error_code code, std::string_view reason, initiator by,
                                stream_id unsent_from) noexcept {
  if (failed_) return;
  failed_ = true;
  in_ = {};
  block_open_ = block_good_ = false;
  // A block that could not be read may have ended its stream on the wire, and its user waits for what it says.
  if (stream* const unread = std::exchange(block_stream_, nullptr);
      unread && unread->state == stream_state::ended)
    end(*unread, stream_state::ended, code, by, reason);
  goaway_first_ = false;
  settings_pending_ = slots_pending_ = goaway_pending_ = false;
  const std::uint32_t bound = streams_.bound();
  for (std::uint32_t i = 0; i < bound; ++i) {
    if (!streams_.live(i) || is_closed(streams_[i].state)) continue;
    stream& s = streams_[i];
    // Writable events of streams that have ended well stay: nothing else would come for them.
    end(s, stream_state::reset_sent, code, by, reason,
        side_ == role::client && (s.id == 0 || s.id >= unsent_from));
  }
  failed_pending_ = pending_ = true;
  failed_code_ = code;
  failed_by_ = by;
  failed_reason_ = reason;
}

// To a server that is a client's cancellation, to a client the failure of what lies between.
void connection::feed_end(time_point now) noexcept {
  now_ = now;
  if (side_ == role::server) return end_everything(error_code::cancel, "connection closed", initiator::peer);
  // Nobody could answer it any more; and so it surely was not seen.
  if (!failed_) output_.clear();
  end_everything(error_code::internal_error, "connection closed", initiator::peer, kept_from_);
}

// RFC 9113 6.8: the first GOAWAY lets streams in that are on their way; a round trip later the final one can
// say which is the last.
void connection::drain() noexcept try {
  if (failed_ || draining_) return;
  draining_ = true;
  if (side_ == role::client) return;
  goaway_first_ = true;
  if (open_count_ == 0) drained_at_ = last_given_id_;
  write_goaway(stream_id_max, error_code::no_error, {});
  write_ping(drain_ping, false);
  drain_deadline_ = deadline_after(now_, limit_.drain_timeout);
} catch (const std::bad_alloc&) {
  out_of_memory();
}

void connection::drain_now() noexcept try {
  draining_ = true;
  if (failed_ || goaway_final_ || side_ == role::client) return;
  goaway_first_ = false;
  goaway_final_ = true;
  goaway_last_id_ = last_given_id_;
  drain_deadline_ = never;
  write_goaway(goaway_last_id_, error_code::no_error, {});
} catch (const std::bad_alloc&) {
  out_of_memory();
}

bool connection::is_drain_ping(std::uint64_t opaque) const noexcept {
  return goaway_first_ && opaque == drain_ping;
}
bool connection::answers_keepalive(std::uint64_t opaque) noexcept {
  return opaque == keepalive_ping && alive_.answered();
}

time_point connection::next_timeout() const noexcept {
  if (failed_) return never;
  return std::min(
      {settings_acked_ ? never : settings_deadline_, drain_deadline_, block_deadline_, alive_.next()});
}

void connection::on_timeout(time_point now) noexcept try {
  now_ = now;
  if (failed_) return;
  // RFC 9113 6.5.3.
  if (!settings_acked_ && now >= settings_deadline_)
    return fail(error_code::settings_timeout, "SETTINGS were not acknowledged", initiator::library);
  if (now >= block_deadline_)
    return fail(error_code::enhance_your_calm, "a frame was begun and not ended in time", initiator::library);
  if (now >= drain_deadline_) drain_now();
  if (!failed_) ask_if_alive();
} catch (const std::bad_alloc&) {
  out_of_memory();
}

void connection::ask_if_alive() {
  switch (alive_.on_time(now_, open_count_ != 0)) {
    case keepalive::verdict::nothing: return;
    case keepalive::verdict::ping: return write_ping(keepalive_ping, false);
    case keepalive::verdict::dead:
      return fail(error_code::no_error, "the peer did not answer a keepalive PING", initiator::library);
  }
}

// All that came is read. A header block or a frame that is no DATA costs its peer next to nothing while it is
// held up, and us a buffer: it is given a time. DATA is passed on as it comes.
void connection::watch_unfinished() noexcept {
  const bool unfinished =
      partial_bytes_ != 0 || reading_ == phase::request_line || reading_ == phase::payload || block_id_ != 0;
  if (!unfinished) block_deadline_ = never;
  else if (block_deadline_ == never) block_deadline_ = deadline_after(now_, limit_.header_timeout);
}

bool connection::take_pending(event& e) {
  if (auto* hook = resets_.pop_front()) {
    stream& s = *static_cast<stream*>(hook);
    e.what = event::kind::reset;
    e.stream = streams_.ref_to(s);
    e.id = s.id;
    e.user = s.user;
    e.code = s.end_code;
    e.by = s.end_by;
    e.reason = s.end_reason;
    e.unprocessed = s.end_unprocessed;
    return true;
  }
  if (std::exchange(goaway_pending_, false)) {
    e.what = event::kind::goaway;
    e.code = goaway_code_;
    e.data = goaway_debug_;
    return true;
  }
  if (std::exchange(settings_pending_, false)) {
    e.what = event::kind::settings;
    return true;
  }
  if (std::exchange(slots_pending_, false) && can_open()) {
    e.what = event::kind::slots;
    return true;
  }
  if (auto* hook = writables_.pop_front()) {
    stream& s = *static_cast<stream*>(hook);
    e.what = event::kind::writable;
    e.stream = streams_.ref_to(s);
    e.id = s.id;
    e.user = s.user;
    return true;
  }
  pending_ = false;
  if (!std::exchange(failed_pending_, false)) return false;
  e.what = event::kind::failed;
  e.code = failed_code_;
  e.by = failed_by_;
  e.reason = failed_reason_;
  return true;
}

}  // namespace coracle::http2
