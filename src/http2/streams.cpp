// The coming and going of streams.
#include "coracle/base/impl/assert.hpp"
#include "http2/connection.hpp"

#include <algorithm>
#include <new>

namespace coracle::http2 {

stream* connection::find_id(stream_id id) noexcept {
  if (recent_ && recent_->id == id) return recent_;
  const std::uint32_t place = index_.find(id);
  return place == stream_index::no_place ? nullptr : recent_ = &streams_[place];
}

// Even ids are those of pushed streams, which neither role allows.
stream_state connection::state_of(stream_id id) const noexcept {
  const bool used = side_ == role::server ? id <= highest_peer_id_ : id < next_own_id_;
  return used && (id & 1) != 0 ? closed_.find(id) : stream_state::idle;
}

stream& connection::make_stream(void* user) {
  stream& s = streams_.emplace(user, peer_.initial_window_bytes, stream_receive_bytes_);
  ++open_count_;
  alive_.call_begins();
  note_limit();
  allow_updates(1);
  return s;
}

void connection::number(stream& s, stream_id id) {
  index_.insert(id, streams_.index_of(s));
  s.id = id;
}

void connection::advance(stream& s, stream_input input) noexcept {
  const transition& t = transition_of(s.state, input);
  CORACLE_ASSERT(t.verdict == stream_verdict::take, "a stream was moved where it cannot go");
  if (is_closed(t.next)) close(s, t.next);
  else s.state = t.next;
}

void connection::close(stream& s, stream_state how) noexcept {
  if (s.id != 0) {
    index_.erase(s.id);
    closed_.remember(s.id, how);
  } else {
    --unnumbered_count_;
  }
  s.state = how;
  uncount(s);
  s.queue.clear(chunks_);
  s.sending_hook::unlink();
  // Who waits for the last bytes of a stream that ends well is still told that they have gone.
  if (how != stream_state::ended || s.released) s.telling_hook::unlink();
  if (recent_ == &s) recent_ = nullptr;
  if (data_stream_ == &s) data_stream_ = nullptr;
  if (head_stream_ == &s) head_stream_ = nullptr;
  --open_count_;
  note_limit();
  if (s.released) erase(s);
}

void connection::erase(stream& s) noexcept {
  if (block_stream_ == &s) block_stream_ = nullptr;
  kept_bytes_ -= s.head_bytes + s.kept_bytes;
  streams_.erase(s);
}

// The stream ends abnormally, and its user is told. It may have ended well on the wire already.
void connection::end(stream& s, stream_state how, error_code code, initiator by, std::string_view reason,
                     bool unprocessed) noexcept {
  const bool tell = !s.released;
  if (!is_closed(s.state)) close(s, how);
  if (!tell) return;
  s.telling_hook::unlink();
  s.end_code = code;
  s.end_by = by;
  s.end_reason = reason;
  s.end_unprocessed = unprocessed;
  resets_.push_back(s);
  pending_ = true;
}

// A rule of RFC 9113 that the peer broke on one stream (5.4.2). Without `s` on one that is closed.
void connection::stream_fault(stream* s, stream_id id, error_code code, std::string_view reason) {
  if (s && is_closed(s->state)) {
    // What the user did itself is not told to it; what ended well on the wire turns out bad.
    if (s->state == stream_state::ended) end(*s, stream_state::ended, code, initiator::library, reason);
    return;
  }
  // A client that does not know our limit yet may honestly overshoot it.
  const bool unknowing = code == error_code::refused_stream && !settings_acked_;
  // What is refused made no call, however early.
  if (unknowing ? !charge_control() : !charge_reset(code == error_code::refused_stream ? 0 : id)) return;
  write_rst_stream(id, code);
  if (s) end(*s, stream_state::reset_sent, code, initiator::library, reason);
  else closed_.remember(id, stream_state::reset_sent);
  answered(frame_header_bytes + 4);
}

stream_ref connection::open(void* user) {
  CORACLE_ASSERT(side_ == role::client, "servers do not open streams");
  if (!can_open()) return no_stream;
  stream& s = make_stream(user);
  ++unnumbered_count_;
  return streams_.ref_to(s);
}

bool connection::can_open() const noexcept {
  if (side_ == role::server || failed_ || draining_ || peer_goes_away_ || at_limit()) return false;
  // RFC 9113 5.1.1: ids are not used twice; when they are used up a new connection is needed.
  return next_own_id_ / 2 + unnumbered_count_ < limit_.own_streams;
}

// Sees to a slots event when the number of streams falls below the limit.
void connection::note_limit() noexcept {
  if (side_ == role::server) return;
  const bool is = at_limit();
  if (was_at_limit_ && !is && can_open()) slots_pending_ = pending_ = true;
  was_at_limit_ = is;
}

void connection::reset(stream_ref ref, error_code code) noexcept try {
  stream* s = find(ref);
  if (!s || is_closed(s->state)) return;
  // The peer's table already lacks what the rest of the block would have said.
  if (head_stream_ == s)
    return fail(error_code::internal_error, "a header block was not ended", initiator::user);
  const stream_id id = s->id;
  close(
      *s,
      stream_state::reset_sent);  // first: should writing fail the connection, this stream is not told of it
  if (id != 0) write_rst_stream(id, code);
} catch (const std::bad_alloc&) {
  out_of_memory();
}

void connection::release(stream_ref ref) noexcept try {
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
  if (block_stream_ == s) block_stream_ = nullptr;
  const bool answers = side_ == role::server || !may_receive(s->state);
  // What is queued up to the end is still sent; then sent() sees to the rest.
  if (answers && s->queue.ends()) return;
  // RFC 9113 8.1: a server that has answered in full may ask the client, without error, to stop sending.
  const bool answered_in_full = side_ == role::server && s->state == stream_state::half_closed_local;
  reset(ref, answered_in_full ? error_code::no_error : error_code::cancel);
} catch (const std::bad_alloc&) {
  out_of_memory();
}

}  // namespace coracle::http2
