// The coming and going of streams.
#include "coracle/base/assert.hpp"
#include "http2/connection_state.hpp"

#include <algorithm>

namespace coracle::http2 {

stream* connection::state::find_id(stream_id id) noexcept {
  const stream_ref ref = index.find(id);
  return ref == no_stream ? nullptr : &streams[ref];
}

// Even ids are those of pushed streams, which neither role allows.
stream_state connection::state::state_of(stream_id id) const noexcept {
  const bool used = side == role::server ? id <= highest_peer_id : id < next_own_id;
  return used && (id & 1) != 0 ? closed.find(id) : stream_state::idle;
}

stream& connection::state::make_stream(void* user) {
  // The slab hands out the place that the object has to know of itself.
  const stream_ref ref = streams.emplace(no_stream, user, peer.initial_window_bytes, stream_receive_bytes);
  stream& s = streams[ref];
  s.ref = ref;
  ++open_count;
  alive.call_begins();
  note_limit();
  allow_updates(1);
  return s;
}

void connection::state::number(stream& s, stream_id id) {
  index.insert(id, s.ref);
  s.id = id;
}

void connection::state::advance(stream& s, stream_input input) noexcept {
  const transition& t = transition_of(s.state, input);
  CORACLE_ASSERT(t.verdict == stream_verdict::take, "a stream was moved where it cannot go");
  if (is_closed(t.next)) close(s, t.next);
  else s.state = t.next;
}

void connection::state::close(stream& s, stream_state how) noexcept {
  if (s.id != 0) {
    index.erase(s.id);
    closed.remember(s.id, how);
  } else {
    --unnumbered_count;
  }
  s.state = how;
  uncount(s);
  s.queue.clear(chunks);
  s.sending_hook::unlink();
  // Who waits for the last bytes of a stream that ends well is still told that they have gone.
  if (how != stream_state::ended || s.released) s.telling_hook::unlink();
  if (data_stream == &s) data_stream = nullptr;
  if (head_stream == &s) head_stream = nullptr;
  --open_count;
  note_limit();
  if (s.released) erase(s);
}

void connection::state::erase(stream& s) noexcept {
  if (block_stream == &s) block_stream = nullptr;
  kept_bytes -= s.head_bytes + s.kept_bytes;
  streams.erase(s.ref);
}

// The stream ends abnormally, and its user is told. It may have ended well on the wire already.
void connection::state::end(stream& s, stream_state how, error_code code, initiator by,
                            std::string_view reason, bool unprocessed) noexcept {
  const bool tell = !s.released;
  if (!is_closed(s.state)) close(s, how);
  if (!tell) return;
  s.telling_hook::unlink();
  s.end_code = code;
  s.end_by = by;
  s.end_reason = reason;
  s.end_unprocessed = unprocessed;
  resets.push_back(s);
  pending = true;
}

// A rule of RFC 9113 that the peer broke on one stream (5.4.2). Without `s` on one that is closed.
void connection::state::stream_fault(stream* s, stream_id id, error_code code, std::string_view reason) {
  if (s && is_closed(s->state)) {
    // What the user did itself is not told to it; what ended well on the wire turns out bad.
    if (s->state == stream_state::ended) end(*s, stream_state::ended, code, initiator::library, reason);
    return;
  }
  // A client that does not know our limit yet may honestly overshoot it.
  const bool unknowing = code == error_code::refused_stream && !settings_acked;
  // What is refused made no call, however early.
  if (unknowing ? !charge_control() : !charge_reset(code == error_code::refused_stream ? 0 : id)) return;
  write_rst_stream(id, code);
  if (s) end(*s, stream_state::reset_sent, code, initiator::library, reason);
  else closed.remember(id, stream_state::reset_sent);
  answered(frame_header_bytes + 4);
}

stream_ref connection::state::open(void* user) {
  CORACLE_ASSERT(side == role::client, "servers do not open streams");
  if (!can_open()) return no_stream;
  const stream& s = make_stream(user);
  ++unnumbered_count;
  return s.ref;
}

bool connection::state::can_open() const noexcept {
  if (side == role::server || failed || draining || peer_goes_away || at_limit()) return false;
  // RFC 9113 5.1.1: ids are not used twice; when they are used up a new connection is needed.
  return next_own_id / 2 + unnumbered_count < limit.own_streams;
}

// Sees to a slots event when the number of streams falls below the limit.
void connection::state::note_limit() noexcept {
  if (side == role::server) return;
  const bool is = at_limit();
  if (was_at_limit && !is && can_open()) slots_pending = pending = true;
  was_at_limit = is;
}

void connection::state::reset(stream_ref ref, error_code code) {
  stream* s = find(ref);
  if (!s || is_closed(s->state)) return;
  // The peer's table already lacks what the rest of the block would have said.
  if (head_stream == s)
    return fail(error_code::internal_error, "a header block was not ended", initiator::user);
  const stream_id id = s->id;
  close(
      *s,
      stream_state::reset_sent);  // first: should writing fail the connection, this stream is not told of it
  if (id != 0) write_rst_stream(id, code);
}

void connection::state::release(stream_ref ref) {
  stream* s = find(ref);
  if (!s || s->released) return;
  if (is_closed(s->state)) {
    s->telling_hook::unlink();
    erase(*s);
    return;
  }
  s->released = true;
  s->wants_writable = false;
  s->telling_hook::unlink();
  if (block_stream == s) block_stream = nullptr;
  const bool answers = side == role::server || !may_receive(s->state);
  // What is queued up to the end is still sent; then sent() sees to the rest.
  if (answers && s->queue.ends()) return;
  // RFC 9113 8.1: a server that has answered in full may ask the client, without error, to stop sending.
  const bool answered_in_full = side == role::server && s->state == stream_state::half_closed_local;
  reset(ref, answered_in_full ? error_code::no_error : error_code::cancel);
}

}  // namespace coracle::http2
