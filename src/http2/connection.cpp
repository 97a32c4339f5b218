#include "http2/connection.hpp"

#include "coracle/base/impl/assert.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

namespace coracle::http2 {

namespace {

using std::chrono_literals::operator""ms;

// Limits that cannot be expressed on the wire are brought into range.
limits is_valid(limits l) {
  l.initial_window_bytes = std::min(l.initial_window_bytes, window_bytes_max);
  l.connection_window_bytes = std::clamp(l.connection_window_bytes, default_window_bytes, window_bytes_max);
  l.grown_window_bytes = std::min(l.grown_window_bytes, window_bytes_max);
  l.max_frame_bytes = std::clamp(l.max_frame_bytes, frame_bytes_min_max, frame_bytes_max_max);
  l.header_table_bytes = std::min(l.header_table_bytes, hpack::table_bytes_max);
  l.own_streams = std::min(l.own_streams, (stream_id_max >> 1) + 1);  // the odd ids
  return l;
}

// The number of streams that a client may open before the server's SETTINGS have arrived (RFC 9113 6.5.2
// recommends that servers permit at least 100).
constexpr std::uint32_t streams_before_settings = 100;

// Until the next attempt to send resets that the limits have delayed.
constexpr duration delayed_reset_pause = 10ms;
// See limits::own_early_resets_burst.
constexpr duration own_early_reset_time = 100ms;

}  // namespace

connection::connection(role r, const limits& l, time_point now, const base::recorded_connection& events)
    : side_(r),
      events_(events),
      limit_(is_valid(l)),
      now_(now),
      reading_(r == role::server ? phase::preface : phase::header),
      reader_(limit_.header_list_bytes, limit_.header_block_bytes),
      settings_deadline_(deadline_after(now, limit_.settings_timeout)),
      // Until the peer has acknowledged our SETTINGS, it may apply either value (RFC 9113 6.5.3).
      stream_receive_bytes_(std::max(limit_.initial_window_bytes, default_window_bytes)),
      encoder_(limit_.encoder_table_bytes),
      path_(now),
      alive_(limit_.keepalive, now),
      reset_tokens_(now),
      early_reset_tokens_(now),
      control_tokens_(now),
      empty_tokens_(now) {
  if (side_ == role::client) {
    output_.append(as_bytes(client_preface));
    peer_.max_concurrent_streams = streams_before_settings;
  }
  std::uint8_t* const out = output_.reserve(settings_frame_bytes_max);
  const auto written = static_cast<std::size_t>(write_settings(out, limit_, side_ == role::server) - out);
  output_.commit(written);
  frame_written(frame_type::settings, flag::none, 0, written - frame_header_bytes);
  // RFC 9113 6.9.2: the connection's window starts at 65535 regardless of SETTINGS.
  if (const std::uint32_t more = limit_.connection_window_bytes - default_window_bytes) {
    write_window_update(0, more);
    receive_.resize(limit_.connection_window_bytes);
  }
}

// --- incoming frames

namespace {
// The maximum capacity that a buffer keeps after a large frame or block.
constexpr std::size_t kept_bytes = 32u << 10;

void start_over(std::vector<std::uint8_t>& buffer) {
  buffer.clear();
  if (buffer.capacity() > kept_bytes) buffer.shrink_to_fit();
}
}  // namespace

void connection::feed(bytes_view bytes, time_point now) {
  CORACLE_ASSERT(in_.empty(), "feed() again before next() has returned none");
  if (now != now_) fed_from_ = highest_peer_id_;
  now_ = now;
  alive_.on_input(now);
  if (!failed_) in_ = bytes;
}

bytes_view connection::take_unread() noexcept try {
  if (block_open_) finish_block();
  return std::exchange(in_, {});
} catch (const std::bad_alloc&) {
  out_of_memory();
  return {};
}

bool connection::awaits_preface() const noexcept {
  return reading_ == phase::preface && !failed_ && !goaway_final_;
}

event connection::next() noexcept {
  event e;
  for (;;) {
    try {
      if (block_open_) [[unlikely]]
        finish_block();
      if (pending_ && take_pending(e)) return e;
      if (failed_) return e;
      switch (read(e)) {
        case progress::event: return e;
        case progress::again: break;
        case progress::starved:
          start_unfinished_timer();
          if (!pending_) return e;
          break;
      }
    } catch (const std::bad_alloc&) {
      e = event();
      out_of_memory();
    }
  }
}

bytes_view connection::take_input(std::size_t n) noexcept {
  const bytes_view taken = in_.first(n);
  in_ = in_.subspan(n);
  return taken;
}

connection::progress connection::read(event& e) {
  switch (reading_) {
    case phase::header: return read_header(e);
    case phase::data: return read_data(e);
    case phase::payload: return read_payload(e);
    case phase::pad_length:
      if (in_.empty()) return progress::starved;
      return begin_data_payload(take_input(1)[0]);
    case phase::skip: return read_skipped();
    case phase::preface: return read_preface(e);
  }
  return progress::starved;
}

// RFC 9113 3.4. A peer that sends something else does not speak HTTP/2 and would not understand a GOAWAY.
connection::progress connection::read_preface(event& e) {
  const std::size_t n = std::min(in_.size(), client_preface.size() - partial_bytes_);
  if (as_text(in_.first(n)) != client_preface.substr(partial_bytes_, n)) {
    const bool nothing_sent = !goaway_final_;
    e.data = in_;
    end_everything(error_code::protocol_error, "invalid connection preface (RFC 9113 3.4)",
                   initiator::library);
    if (!nothing_sent) return progress::again;
    e.type = event::kind::no_preface;
    output_.clear();
    pending_ = failed_pending_ = false;
    return progress::event;
  }
  take_input(n);
  partial_bytes_ = static_cast<std::uint8_t>(partial_bytes_ + n);
  if (partial_bytes_ < client_preface.size()) return progress::starved;
  partial_bytes_ = 0;
  reading_ = phase::header;
  return progress::again;
}

namespace {
// What a client's peer speaks in place of HTTP/2, by its first octets; empty: unknown.
std::string_view protocol_of(std::string_view first) noexcept {
  if (first.starts_with("HTTP/"))
    return "the server does not speak HTTP/2: it answers in HTTP/1 (is this the port of its gRPC service?)";
  if (first.starts_with('<')) return "the server does not speak HTTP/2: it answers with a page of HTML";
  if (first.starts_with("SSH-")) return "the server does not speak HTTP/2: it is an SSH server";
  // RFC 8446 5.1: an alert or a handshake record of TLS.
  if (first.starts_with("\x15\x03") || first.starts_with("\x16\x03"))
    return "the server requires TLS, and the client connects in plaintext";
  return {};
}
constexpr std::size_t octets_to_tell = 5;

// What is wrong with the first frame of the peer; empty: nothing.
std::string_view problem_of_first(const frame_header& f, bool of_server) noexcept {
  // Before all else, as with fewer octets: the length of a record of TLS may look like the type of SETTINGS.
  std::uint8_t octets[frame_header_bytes];
  write_frame_header(octets, f.length, f.type, f.flags, f.id);
  const std::string_view other =
      of_server ? protocol_of(as_text({octets, sizeof octets})) : std::string_view();
  if (!other.empty()) return other;
  // RFC 9113 3.4: it is SETTINGS.
  if (f.type == frame_type::settings && !f.has(flag::ack)) return {};
  if (of_server && f.type > frame_type::continuation)
    return "the server does not speak HTTP/2: its first octets are no frame (RFC 9113 3.4)";
  return "the first frame is not SETTINGS (RFC 9113 3.4)";
}
}  // namespace

connection::progress connection::read_header(event& e) {
  if (partial_bytes_ == 0 && in_.size() >= frame_header_bytes) [[likely]] {
    const std::uint8_t* const octets = take_input(frame_header_bytes).data();
    events_.frame_received(octets);
    frame_ = read_frame_header(octets);
  } else {
    const std::size_t n = std::min(in_.size(), frame_header_bytes - partial_bytes_);
    if (n) std::memcpy(partial_.data() + partial_bytes_, in_.data(), n);
    in_ = in_.subspan(n);
    partial_bytes_ = static_cast<std::uint8_t>(partial_bytes_ + n);
    if (partial_bytes_ < frame_header_bytes) {
      if (side_ == role::server || peer_settings_seen_ || partial_bytes_ < octets_to_tell || partial_[0] == 0)
        return progress::starved;
      // A peer that speaks another protocol may send no more than this. The length of a first frame begins
      // with 0.
      const std::string_view found = protocol_of(as_text(bytes_view(partial_).first(partial_bytes_)));
      return found.empty() ? progress::starved : connection_error(error_code::protocol_error, found);
    }
    partial_bytes_ = 0;
    events_.frame_received(partial_.data());
    frame_ = read_frame_header(partial_.data());
  }
  if (!peer_settings_seen_) [[unlikely]] {
    const std::string_view wrong = problem_of_first(frame_, side_ == role::client);
    if (!wrong.empty()) return connection_error(error_code::protocol_error, wrong);
  }
  // RFC 9113 4.2: for some frames this could be a stream error, but such a peer is broken anyway.
  if (frame_.length > limit_.max_frame_bytes)
    return connection_error(error_code::frame_size_error,
                            "frame length exceeds SETTINGS_MAX_FRAME_SIZE (RFC 9113 4.2)");
  // RFC 9113 6.10: no other frame may occur between the frames of a header block.
  if (block_id_ != 0 && (frame_.type != frame_type::continuation || frame_.id != block_id_))
    return connection_error(error_code::protocol_error,
                            "another frame within a header block (RFC 9113 6.10)");
  if (block_id_ == 0) block_deadline_ = never;  // the unfinished frame or block is now complete
  if (frame_.type == frame_type::data) return begin_data();
  if (frame_.type ==
      frame_type::push_promise)  // RFC 9113 8.4: not sent to servers, and disabled by our clients
    return connection_error(error_code::protocol_error, "PUSH_PROMISE is not permitted (RFC 9113 8.4)");
  if (frame_.type > frame_type::continuation) {  // RFC 9113 5.5: unknown types are ignored
    if (!charge_control()) return progress::again;
    data_left_ = frame_.length;
    reading_ = phase::skip;
    return progress::again;
  }
  if (in_.size() >= frame_.length) [[likely]]
    return on_frame(take_input(frame_.length), e);
  start_over(assembly_);
  reading_ = phase::payload;
  return progress::again;
}

connection::progress connection::read_payload(event& e) {
  const bytes_view piece = take_input(std::min(in_.size(), frame_.length - assembly_.size()));
  assembly_.insert(assembly_.end(), piece.begin(), piece.end());
  if (assembly_.size() < frame_.length) return progress::starved;
  reading_ = phase::header;
  return on_frame(assembly_, e);
}

connection::progress connection::read_skipped() {
  data_left_ -= static_cast<std::uint32_t>(take_input(std::min<std::size_t>(in_.size(), data_left_)).size());
  if (data_left_ != 0) return progress::starved;
  reading_ = phase::header;
  return progress::again;
}

connection::progress connection::on_frame(bytes_view payload, event& e) {
  switch (frame_.type) {
    case frame_type::headers: return on_headers(payload, e);
    case frame_type::window_update: return on_window_update(payload);
    case frame_type::rst_stream: return on_rst_stream(payload);
    case frame_type::settings: return on_settings(payload);
    case frame_type::ping: return on_ping(payload);
    case frame_type::continuation: return on_continuation(payload, e);
    case frame_type::priority: return on_priority(payload);
    case frame_type::goaway: return on_goaway(payload, e);
    case frame_type::data:
    case frame_type::push_promise: break;
  }
  return progress::again;
}

// --- DATA (RFC 9113 6.1)

connection::progress connection::begin_data() {
  if (frame_.id == 0) return connection_error(error_code::protocol_error, "DATA on stream 0 (RFC 9113 6.1)");
  // RFC 9113 6.9.1: the whole payload counts, including padding, whatever the state of the stream.
  if (!receive_.take(frame_.length))
    return connection_error(error_code::flow_control_error,
                            "DATA exceeds the window of the connection (RFC 9113 6.9.1)");
  receive_.give_back(frame_.length);
  path_.received(frame_.length);
  return_connection_credit();
  if (!frame_.has(flag::padded)) [[likely]]
    return begin_data_payload(0);
  if (frame_.length == 0)
    return connection_error(error_code::frame_size_error, "padded DATA without a pad length (RFC 9113 6.1)");
  reading_ = phase::pad_length;
  return progress::again;
}

connection::progress connection::begin_data_payload(std::uint32_t pad) {
  const std::uint32_t pad_field = frame_.has(flag::padded) ? 1 : 0;
  if (pad + pad_field > frame_.length)
    return connection_error(error_code::protocol_error, "padding exceeds the payload of DATA (RFC 9113 6.1)");
  const bool ends = frame_.has(flag::end_stream);
  data_left_ = frame_.length - pad_field - pad;
  pad_left_ = pad;
  data_stream_ = nullptr;
  reading_ = phase::data;
  if (data_left_ == 0 && !ends && !charge_empty()) return progress::again;

  stream* s = find_id(frame_.id);
  const stream_state now_in = s ? s->state : state_of(frame_.id);
  const transition& t =
      transition_of(now_in, ends ? stream_input::receive_data_end : stream_input::receive_data);
  switch (t.verdict) {
    case stream_verdict::take: break;
    case stream_verdict::stream_error:
      stream_fault(s, frame_.id, t.code, "DATA on a closed stream (RFC 9113 5.1)");
      return progress::again;
    case stream_verdict::connection_error: return die_in_state(t.code, "DATA", frame_.id, now_in);
    default: return progress::again;  // the payload is read and dropped
  }
  if (!s->receive.take(frame_.length)) {
    stream_fault(s, frame_.id, error_code::flow_control_error,
                 "DATA exceeds the window of the stream (RFC 9113 6.9.1)");
  } else if (side_ == role::client && !s->headers_received) {
    stream_fault(s, frame_.id, error_code::protocol_error,
                 "DATA before the HEADERS of the response (RFC 9113 8.1)");
  } else if (s->length_known && (ends ? data_left_ != s->length_left : data_left_ > s->length_left)) {
    stream_fault(s, frame_.id, error_code::protocol_error,
                 "the length of the DATA contradicts content-length (RFC 9113 8.1.1)");
  } else {
    s->length_left -= s->length_known ? data_left_ : 0;
    data_stream_ = s;
    if (pad_field == 0) return progress::again;
    s->receive.give_back(pad + pad_field);  // the user does not consume padding
    const std::uint32_t increment = ends ? 0 : s->receive.announce();
    if (increment) write_window_update(s->id, increment);
  }
  return progress::again;
}

connection::progress connection::read_data(event& e) {
  if (in_.empty() && data_left_ + pad_left_ != 0) return progress::starved;
  const bytes_view piece = take_input(std::min<std::size_t>(in_.size(), data_left_));
  data_left_ -= static_cast<std::uint32_t>(piece.size());
  if (data_left_ == 0 && pad_left_ != 0)
    pad_left_ -= static_cast<std::uint32_t>(take_input(std::min<std::size_t>(in_.size(), pad_left_)).size());
  const bool done = data_left_ + pad_left_ == 0;
  if (done) reading_ = phase::header;
  stream* const s = data_stream_;
  if (!s) return progress::again;
  if (done) data_stream_ = nullptr;
  // END_STREAM applies when the frame is complete.
  const bool ends = done && frame_.has(flag::end_stream);
  const bool report = !s->released && (!piece.empty() || ends);
  if (report) {
    s->held_bytes += static_cast<std::uint32_t>(piece.size());
    e.type = event::kind::data;
    e.stream = streams_.ref_to(*s);
    e.id = s->id;
    e.user = s->user;
    e.data = piece;
    e.end_stream = ends;
  }
  if (ends) advance(*s, stream_input::receive_data_end);
  return report ? progress::event : progress::again;
}

// --- HEADERS and CONTINUATION

namespace {
// The memory kept for Huffman strings after an unusually large block.
constexpr std::size_t scratch_kept_bytes = 16u << 10;
}  // namespace

connection::progress connection::on_headers(bytes_view payload, event& e) {
  if (frame_.id == 0)
    return connection_error(error_code::protocol_error, "HEADERS on stream 0 (RFC 9113 6.2)");
  if (frame_.has(flag::padded) && !strip_padding(payload))
    return connection_error(error_code::protocol_error,
                            "padding exceeds the payload of HEADERS (RFC 9113 6.2)");
  block_depends_on_itself_ = false;
  if (frame_.has(flag::priority)) {
    if (payload.size() < 5)
      return connection_error(error_code::frame_size_error,
                              "HEADERS too short for its priority fields (RFC 9113 6.2)");
    block_depends_on_itself_ = (load_u32(payload.data()) & stream_id_max) == frame_.id;
    payload = payload.subspan(5);
  }
  block_ends_stream_ = frame_.has(flag::end_stream);
  if (payload.size() > limit_.header_block_bytes) return refuse_huge_block();
  if (frame_.has(flag::end_headers)) [[likely]]
    return on_block(frame_.id, payload, e);

  if (payload.empty() && !charge_empty()) return progress::again;
  start_over(block_);
  block_.assign(payload.begin(), payload.end());
  block_id_ = frame_.id;
  block_frames_ = 0;
  return progress::again;
}

connection::progress connection::on_continuation(bytes_view payload, event& e) {
  // RFC 9113 6.10. One on another stream was rejected in read_header().
  if (block_id_ == 0)
    return connection_error(error_code::protocol_error,
                            "CONTINUATION outside of a header block (RFC 9113 6.10)");
  if (++block_frames_ > limit_.continuations)
    return connection_error(error_code::enhance_your_calm,
                            "CONTINUATION frames of a header block exceed limits::continuations");
  if (block_.size() + payload.size() > limit_.header_block_bytes) return refuse_huge_block();
  const bool complete = frame_.has(flag::end_headers);
  if (payload.empty() && !complete && !charge_empty()) return progress::again;
  block_.insert(block_.end(), payload.begin(), payload.end());
  if (!complete) return progress::again;
  return on_block(std::exchange(block_id_, 0), block_, e);
}

connection::progress connection::on_block(stream_id id, bytes_view bytes, event& e) {
  stream* s = find_id(id);
  if (!s && side_ == role::server && (id & 1) != 0 && id > highest_peer_id_) [[likely]]
    return on_new_stream(id, bytes, e);
  const stream_state now_in = s ? s->state : state_of(id);
  // RFC 9113 5.1.1: only clients open streams, with odd ids.
  if (now_in == stream_state::idle)
    return connection_error(error_code::protocol_error,
                            "HEADERS on a stream that the peer cannot open (RFC 9113 5.1.1)");
  const transition& t = transition_of(
      now_in, block_ends_stream_ ? stream_input::receive_headers_end : stream_input::receive_headers);
  switch (t.verdict) {
    case stream_verdict::take: break;
    case stream_verdict::connection_error: return die_in_state(t.code, "HEADERS", id, now_in);
    case stream_verdict::stream_error:
      return refuse_block(s, id, bytes, t.code, "HEADERS on a closed stream (RFC 9113 5.1)");
    default:
      if (!charge_stray_block()) return progress::again;
      if (!reader_.skip(bytes)) return connection_error(error_code::compression_error, reader_.reason());
      return progress::again;
  }
  // RFC 7540 5.3.1. RFC 9113 has removed priorities, but a stream must still not depend on itself.
  if (block_depends_on_itself_)
    return refuse_block(s, id, bytes, error_code::protocol_error,
                        "stream depends on itself (RFC 7540 5.3.1)");
  if (side_ == role::client && !s->headers_received)
    return deliver_block(*s, bytes, http::header_kind::response, e);
  if (!block_ends_stream_)  // RFC 9113 8.1: trailers end the stream
    return refuse_block(s, id, bytes, error_code::protocol_error,
                        "trailers without END_STREAM (RFC 9113 8.1)");
  if (s->length_known && s->length_left != 0)
    return refuse_block(s, id, bytes, error_code::protocol_error,
                        "the length of the DATA contradicts content-length (RFC 9113 8.1.1)");
  return deliver_block(*s, bytes, http::header_kind::trailers, e);
}

connection::progress connection::on_new_stream(stream_id id, bytes_view bytes, event& e) {
  highest_peer_id_ = id;
  // RFC 9113 6.8: streams after the final GOAWAY are ignored, but their blocks must be decoded.
  if (goaway_final_ && id > goaway_last_id_) {
    closed_.remember(id, stream_state::reset_sent);
    if (!charge_stray_block()) return progress::again;
    return reader_.skip(bytes) ? progress::again
                               : connection_error(error_code::compression_error, reader_.reason());
  }
  if (block_depends_on_itself_)
    return refuse_block(nullptr, id, bytes, error_code::protocol_error,
                        "stream depends on itself (RFC 7540 5.3.1)");
  // RFC 9113 5.1.2. Streams that are closed and not yet released hold memory and handlers, too, so that a
  // client that resets the streams that it opens cannot exceed the limit.
  if (open_count_ >= limit_.max_concurrent_streams ||
      streams_.size() >= 2 * std::size_t{limit_.max_concurrent_streams} || refusing_)
    return refuse_block(nullptr, id, bytes, error_code::refused_stream,
                        refusing_ ? "out of memory for new streams"
                                  : "open streams exceed SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113 5.1.2)");
  stream* s = nullptr;
  try {
    index_.reserve_one();  // first: a stream that is not in the index would be lost
    s = &make_stream(nullptr);
  } catch (const std::bad_alloc&) {
    return refuse_block(nullptr, id, bytes, error_code::refused_stream, "out of memory for new streams");
  }
  s->id = id;
  index_.insert_reserved(id, streams_.index_of(*s));
  recent_ = s;
  last_reported_id_ = id;
  s->state = stream_state::open;  // deliver_block() does the rest
  return deliver_block(*s, bytes, http::header_kind::request, e);
}

// Without the block, no later one can be decoded. On a client, the stream of the block ends by itself, so
// that its call differs from those that only shared the connection.
connection::progress connection::refuse_huge_block() {
  constexpr std::string_view reason = "header block exceeds limits::header_block_bytes";
  if (stream* const s = side_ == role::client ? find_id(frame_.id) : nullptr)
    end(*s, stream_state::reset_sent, error_code::enhance_your_calm, initiator::library, reason);
  return connection_error(error_code::enhance_your_calm, reason);
}

// Decodes the block to keep the table up to date, and fails the stream.
connection::progress connection::refuse_block(stream* s, stream_id id, bytes_view bytes, error_code code,
                                              std::string_view reason) {
  if (!reader_.skip(bytes)) return connection_error(error_code::compression_error, reader_.reason());
  stream_fault(s, id, code, reason);
  return progress::again;
}

// The same for a block of which fields have been read.
connection::progress connection::refuse_begun_block(stream& s, error_code code, std::string_view reason) {
  reader_.finish();
  if (reader_.result() == header_reader::outcome::undecodable)
    return connection_error(error_code::compression_error, reader_.reason());
  stream_fault(&s, s.id, code, reason);
  return progress::again;
}

connection::progress connection::deliver_block(stream& s, bytes_view bytes, http::header_kind kind,
                                               event& e) {
  reader_.start(bytes, kind);
  bool informational = false;
  block_has_length_ = kind != http::header_kind::trailers;
  if (kind == http::header_kind::response) {
    const int status = reader_.peek_status();
    informational = status >= 100 && status < 200;
    if (informational) {
      // RFC 9113 8.1: an interim response does not end the stream.
      if (block_ends_stream_)
        return refuse_begun_block(s, error_code::protocol_error,
                                  "END_STREAM on an interim response (RFC 9113 8.1)");
      if (s.interim_responses == limit_.interim_responses)
        return refuse_begun_block(s, error_code::enhance_your_calm,
                                  "interim responses exceed limits::interim_responses");
      ++s.interim_responses;
    }
    s.headers_received = !informational;
    // RFC 9113 8.1.1: these have no content, whatever content-length says.
    if (informational || s.is_head_request || status == 204 || status == 304) block_has_length_ = false;
  }
  block_open_ = true;
  block_good_ = false;
  block_stream_ = s.released ? nullptr : &s;
  e.type = event::kind::headers;
  e.stream = streams_.ref_to(s);
  e.id = s.id;
  e.user = s.user;
  e.end_stream = block_ends_stream_;
  e.trailers = kind == http::header_kind::trailers;
  e.informational = informational;
  const bool report = !s.released;
  if (block_ends_stream_) advance(s, stream_input::receive_headers_end);
  if (report) return progress::event;
  e = event();
  return progress::again;
}

bool connection::advance_block() noexcept try {
  if (!block_open_) return false;
  if (reader_.advance()) return true;
  if (reader_.result() == header_reader::outcome::too_large) [[unlikely]] {
    if (side_ == role::client) return false;  // the user may read the excess
    reader_.finish();
  }
  finish_block_checks();
  return false;
} catch (const std::bad_alloc&) {
  out_of_memory();
  return false;
}

bool connection::next_excess_field(field& out) noexcept try {
  if (!headers_too_large()) return false;
  if (reader_.advance_excess()) {
    out = reader_.current();
    return true;
  }
  finish_block_checks(true);
  return false;
} catch (const std::bad_alloc&) {
  out_of_memory();
  return false;
}

std::uint64_t connection::header_list_bytes() const noexcept {
  const bool excess = reader_.result() == header_reader::outcome::too_large;
  return reader_.list_bytes() + (excess ? reader_.excess_bytes() : 0);
}

bool connection::next_field(field& out) noexcept {
  if (!advance_block()) return false;
  out = reader_.current();
  return true;
}

bool connection::read_varying_fields(std::span<const hpack::field>& out) noexcept try {
  if (!block_open_ || !reader_.read_varying()) return false;
  out = reader_.varying();
  check_block();  // the fields stay where they are
  return true;
} catch (const std::bad_alloc&) {
  out_of_memory();
  return true;
}

// The payload of the next frame, if that is a whole DATA frame of `s` with these flags. Empty for frames that
// need an answer or cause an error, which are left to next().
bytes_view connection::whole_data(const stream& s, std::uint8_t flags, std::size_t bytes_max) const noexcept {
  if (block_open_ || reading_ != phase::header || in_.size() < frame_header_bytes) return {};
  const frame_header f = read_frame_header(in_.data());
  const bytes_view behind = in_.subspan(frame_header_bytes);
  if (f.type != frame_type::data || f.flags != flags || f.id != s.id || f.length > behind.size()) return {};
  if (f.length > std::min<std::size_t>(bytes_max, limit_.max_frame_bytes)) return {};
  if (s.length_known && s.length_left != f.length) return {};
  if (!receive_.permits(f.length) || !s.receive.permits(f.length)) return {};
  return behind.first(f.length);
}

// The peer has ended the stream, so that its own window no longer matters.
void connection::take_whole_data(bytes_view payload) {
  const auto length = static_cast<std::uint32_t>(payload.size());
  events_.frame_received(payload.data() - frame_header_bytes);
  take_input(frame_header_bytes + length);
  static_cast<void>(receive_.take(length));  // as whole_data() has found
  receive_.give_back(length);
  path_.received(length);
  return_connection_credit();
}

bool connection::peek_content(stream_ref ref, std::size_t bytes_max, bytes_view& out) noexcept {
  const stream* const s = find(ref);
  if (!s || s->state != stream_state::open) return false;
  out = whole_data(*s, flag::end_stream, bytes_max);
  return !out.empty();
}

void connection::take_content(stream_ref ref, bytes_view content) noexcept try {
  advance(*find(ref), stream_input::receive_data_end);
  take_whole_data(content);
} catch (const std::bad_alloc&) {
  out_of_memory();
}

bool connection::peek_rest(stream_ref ref, std::size_t bytes_max, response_rest& out) noexcept {
  const stream* const s = find(ref);
  if (!s || s->state != stream_state::half_closed_local || !s->headers_received) return false;
  out.data = whole_data(*s, flag::none, bytes_max);
  const bytes_view behind = in_.subspan(out.data.empty() ? 0 : frame_header_bytes + out.data.size());
  if (out.data.empty() || behind.size() < frame_header_bytes) return false;
  const frame_header f = read_frame_header(behind.data());
  out.trailers = behind.subspan(frame_header_bytes);
  if (f.type != frame_type::headers || f.flags != (flag::end_headers | flag::end_stream) || f.id != s->id)
    return false;
  if (f.length > out.trailers.size() || f.length > hpack::block_pattern::bytes_max) return false;
  out.trailers = out.trailers.first(f.length);
  out.number = reader_.find_next(out.trailers, http::header_kind::trailers);
  return out.number != 0;
}

void connection::take_rest(stream_ref ref, const response_rest& rest) noexcept try {
  advance(*find(ref), stream_input::receive_headers_end);
  take_whole_data(rest.data);
  events_.frame_received(rest.trailers.data() - frame_header_bytes);
  take_input(frame_header_bytes + rest.trailers.size());
} catch (const std::bad_alloc&) {
  out_of_memory();
}

// Decodes the fields that were not read.
void connection::finish_block() {
  reader_.finish();
  finish_block_checks();
}

// Finishes a block that has been decoded to its end.
void connection::finish_block_checks(bool accept_excess) {
  reader_.release(scratch_kept_bytes);
  check_block(accept_excess);
}

void connection::check_block(bool accept_excess) {
  block_open_ = false;
  if (reader_.result() == header_reader::outcome::undecodable)
    return fail(error_code::compression_error, reader_.reason(), initiator::library);  // RFC 9113 4.3
  stream* const s = std::exchange(block_stream_, nullptr);
  switch (reader_.result()) {
    case header_reader::outcome::reading:
    case header_reader::outcome::undecodable: return;
    case header_reader::outcome::malformed:
      if (s) stream_fault(s, s->id, error_code::protocol_error, reader_.reason());
      return;
    case header_reader::outcome::too_large:
      start_over(block_);
      if (accept_excess) break;
      // PROTOCOL-HTTP2.md maps this code to RESOURCE_EXHAUSTED, the status that it requires here.
      if (s) stream_fault(s, s->id, error_code::enhance_your_calm, reader_.reason());
      return;
    case header_reader::outcome::good: break;
  }
  block_good_ = true;
  if (!s) return;
  const std::uint32_t header_block_bytes = 2 * reader_.list_bytes();  // lists grow by doubling
  // subtracted first: trailers may be shorter
  kept_bytes_ -= std::exchange(s->header_block_bytes, header_block_bytes);
  kept_bytes_ += header_block_bytes;
  if (block_has_length_) accept_length(*s);
}

void connection::accept_length(stream& s) {
  const auto length = reader_.content_length();
  if (!length) return;
  if (block_ends_stream_ && *length != 0) {
    block_good_ = false;
    return stream_fault(&s, s.id, error_code::protocol_error,
                        "END_STREAM contradicts content-length (RFC 9113 8.1.1)");
  }
  s.length_known = true;
  s.length_left = *length;
}

// --- SETTINGS, PING, WINDOW_UPDATE and the other control frames

// RFC 9113 6.3: the format is validated, and the frame is otherwise ignored.
connection::progress connection::on_priority(bytes_view payload) {
  if (frame_.id == 0)
    return connection_error(error_code::protocol_error, "PRIORITY on stream 0 (RFC 9113 6.3)");
  if (!charge_control()) return progress::again;
  const bool whole = payload.size() == 5;
  if (whole && (load_u32(payload.data()) & stream_id_max) != frame_.id) return progress::again;
  const error_code code = whole ? error_code::protocol_error : error_code::frame_size_error;
  const std::string_view rule =
      whole ? "stream depends on itself (RFC 7540 5.3.1)" : "PRIORITY length is not 5 (RFC 9113 6.3)";
  stream* const s = find_id(frame_.id);
  // RST_STREAM is not permitted on an idle stream, and has no effect on a closed one.
  if (!s) return connection_error(code, rule);
  stream_fault(s, frame_.id, code, rule);
  return progress::again;
}

connection::progress connection::on_rst_stream(bytes_view payload) {
  if (frame_.id == 0)
    return connection_error(error_code::protocol_error, "RST_STREAM on stream 0 (RFC 9113 6.4)");
  if (payload.size() != 4)
    return connection_error(error_code::frame_size_error, "RST_STREAM length is not 4 (RFC 9113 6.4)");
  if (counts_) counts_->resets_received.add(static_cast<error_code>(load_u32(payload.data())));
  record_value(frame_type::rst_stream, false, frame_.id, load_u32(payload.data()));
  stream* const s = find_id(frame_.id);
  const stream_state now_in = s ? s->state : state_of(frame_.id);
  const transition& t = transition_of(now_in, stream_input::receive_reset);
  if (t.verdict == stream_verdict::connection_error)
    return die_in_state(t.code, "RST_STREAM", frame_.id, now_in);
  if (!s) {
    // It may have crossed our END_STREAM or RST_STREAM, once.
    const bool crossed = now_in == stream_state::ended || now_in == stream_state::reset_sent;
    if (!crossed && !charge_control()) return progress::again;
    if (crossed) closed_.remember(frame_.id, t.next);
    return progress::again;
  }
  // Rapid reset: streams that we have answered completely are not charged.
  if (may_send(s->state) && !charge_reset(frame_.id)) return progress::again;
  const auto code = static_cast<error_code>(load_u32(payload.data()));
  // RFC 9113 8.7: REFUSED_STREAM guarantees that nothing was processed.
  end(*s, t.next, code, initiator::peer, "reset by the peer", code == error_code::refused_stream);
  return progress::again;
}

connection::progress connection::on_settings(bytes_view payload) {
  if (frame_.id != 0)
    return connection_error(error_code::protocol_error, "SETTINGS on a stream other than 0 (RFC 9113 6.5)");
  if (frame_.has(flag::ack)) {
    if (!payload.empty())
      return connection_error(error_code::frame_size_error, "SETTINGS with ACK and a payload (RFC 9113 6.5)");
    return on_settings_ack();
  }
  if (!charge_control()) return progress::again;
  settings_values changed = peer_;
  if (!peer_settings_seen_) changed.max_concurrent_streams = unlimited;  // our value was an assumption
  const settings_fault fault = read_settings(payload, side_ == role::client, changed);
  if (fault.code != error_code::no_error) return connection_error(fault.code, fault.reason);

  // RFC 7541 4.2: a lower size in between must be applied, too.
  if (changed.header_table_bytes_lowest < changed.header_table_bytes)
    encoder_.set_peer_limit(changed.header_table_bytes_lowest);
  if (changed.header_table_bytes != peer_.header_table_bytes ||
      changed.header_table_bytes_lowest < changed.header_table_bytes)
    encoder_.set_peer_limit(changed.header_table_bytes);

  // RFC 9113 6.9.2: the windows of existing streams change by the difference.
  const std::int64_t more = std::int64_t{changed.initial_window_bytes} - peer_.initial_window_bytes;
  peer_ = changed;
  if (more != 0) {
    for (std::uint32_t i = 0; i < streams_.bound(); ++i) {
      if (!streams_.live(i) || is_closed(streams_[i].state)) continue;
      if (!streams_[i].send.add(more))
        return connection_error(
            error_code::flow_control_error,
            "SETTINGS_INITIAL_WINDOW_SIZE raises the window of a stream above 2^31-1 (RFC 9113 6.9.2)");
      schedule(streams_[i]);
    }
  }
  record_limit();
  // RFC 9113 6.5.3: acknowledged as soon as applied.
  write_frame_header(output_.reserve(frame_header_bytes), 0, frame_type::settings, flag::ack, 0);
  output_.commit(frame_header_bytes);
  frame_written(frame_type::settings, flag::ack, 0, 0);
  if (!answered(frame_header_bytes)) return progress::again;
  if (!peer_settings_seen_) settings_pending_ = pending_ = true;
  peer_settings_seen_ = true;
  return progress::again;
}

// The peer has applied our SETTINGS.
connection::progress connection::on_settings_ack() {
  if (settings_acked_) {
    charge_control();
    return progress::again;
  }
  settings_acked_ = true;
  path_.answered(now_);
  reader_.set_table_limit(limit_.header_table_bytes);
  if (stream_receive_bytes_ == limit_.initial_window_bytes) return progress::again;
  stream_receive_bytes_ = limit_.initial_window_bytes;
  for (std::uint32_t i = 0; i < streams_.bound(); ++i)
    if (streams_.live(i) && !is_closed(streams_[i].state)) streams_[i].receive.resize(stream_receive_bytes_);
  return progress::again;
}

connection::progress connection::on_ping(bytes_view payload) {
  if (frame_.id != 0)
    return connection_error(error_code::protocol_error, "PING on a stream other than 0 (RFC 9113 6.7)");
  if (payload.size() != 8)
    return connection_error(error_code::frame_size_error, "PING length is not 8 (RFC 9113 6.7)");
  const std::uint64_t opaque = load_u64(payload.data());
  if (!frame_.has(flag::ack)) {
    if (ping_allowance_ > 0) --ping_allowance_;
    else if (!charge_control()) return progress::again;
    // gRFC A8: the client doubles its keepalive time when it reads this text.
    if (side_ == role::server && !strikes_.take(limit_.pings, now_, open_count_ != 0))
      return connection_error(error_code::enhance_your_calm, "too_many_pings");
    write_ping(opaque, true);
    ++pings_answered_;
    answered(frame_header_bytes + 8);
    return progress::again;
  }
  if (is_drain_ping(opaque)) {
    all_read_ = drained_at_ == last_reported_id_;
    drain_now();
    return progress::again;
  }
  if (answers_keepalive(opaque) || answers_window_ping(opaque)) return progress::again;
  charge_control();
  return progress::again;
}

// The event comes before those of the streams that GOAWAY ends: what their users do next must not use this
// connection.
connection::progress connection::on_goaway(bytes_view payload, event& e) {
  if (frame_.id != 0)
    return connection_error(error_code::protocol_error, "GOAWAY on a stream other than 0 (RFC 9113 6.8)");
  if (payload.size() < 8)
    return connection_error(error_code::frame_size_error, "GOAWAY length is less than 8 (RFC 9113 6.8)");
  if (!charge_control()) return progress::again;
  const stream_id last = load_u32(payload.data()) & stream_id_max;
  e.type = event::kind::goaway;
  e.code = static_cast<error_code>(load_u32(payload.data() + 4));
  if (counts_) counts_->goaways_received.add(e.code);
  e.data = payload.subspan(8);
  record_value(frame_type::goaway, false, last, load_u32(payload.data() + 4));
  peer_goes_away_ = true;
  if (side_ == role::server) return progress::event;
  // RFC 9113 6.8: streams above it were not processed and may be retried elsewhere, and so may unsent ones.
  for (std::uint32_t i = 0; i < streams_.bound(); ++i) {
    if (!streams_.live(i) || is_closed(streams_[i].state)) continue;
    stream& s = streams_[i];
    if (s.id == 0 || s.id > last)
      end(s, stream_state::reset_received, e.code, initiator::peer,
          "not processed before GOAWAY (RFC 9113 6.8)", true);
  }
  return progress::event;
}

connection::progress connection::on_window_update(bytes_view payload) {
  if (payload.size() != 4)
    return connection_error(error_code::frame_size_error, "WINDOW_UPDATE length is not 4 (RFC 9113 6.9)");
  // Well-behaved peers send updates after our DATA, or when a stream is opened.
  if (update_allowance_ > 0) --update_allowance_;
  else if (!charge_control()) return progress::again;
  const std::uint32_t increment = load_u32(payload.data()) & window_bytes_max;
  record_value(frame_type::window_update, false, frame_.id, increment);
  if (frame_.id == 0) {
    if (increment == 0)
      return connection_error(error_code::protocol_error, "WINDOW_UPDATE with increment 0 (RFC 9113 6.9)");
    // RFC 9113 6.9.1.
    if (!send_.add(increment))
      return connection_error(
          error_code::flow_control_error,
          "WINDOW_UPDATE raises the window of the connection above 2^31-1 (RFC 9113 6.9.1)");
    return progress::again;
  }
  stream* const s = find_id(frame_.id);
  const stream_state now_in = s ? s->state : state_of(frame_.id);
  const transition& t = transition_of(now_in, stream_input::receive_window_update);
  if (t.verdict == stream_verdict::connection_error)
    return die_in_state(t.code, "WINDOW_UPDATE", frame_.id, now_in);
  // An update may cross our END_STREAM (RFC 9113 5.1), but an increment of 0 is invalid in any state.
  if (increment == 0) {
    stream_fault(s, frame_.id, error_code::protocol_error, "WINDOW_UPDATE with increment 0 (RFC 9113 6.9)");
  } else if (!s) {
    return progress::again;
  } else if (!s->send.add(increment)) {
    stream_fault(s, frame_.id, error_code::flow_control_error,
                 "WINDOW_UPDATE raises the window of the stream above 2^31-1 (RFC 9113 6.9.1)");
  } else {
    schedule(*s);
  }
  return progress::again;
}

// --- outgoing headers and data

namespace {
constexpr std::uint32_t updates_for(std::size_t data_bytes) {
  return 2 + static_cast<std::uint32_t>(data_bytes / 1024);
}
// The PINGs with which peers may measure the delay (grpc-go sends one with DATA when the previous one is
// acknowledged).
constexpr std::uint8_t pings_ahead = 100;
// The payload of the PINGs that measure the round trip; see bdp_estimator.
constexpr std::uint64_t window_ping = 0x64656c61793f2121;
// The space that a header block requires in the output, in as many frames as necessary.
constexpr std::size_t complete_block_bytes(std::size_t block_bytes) {
  return frame_header_bytes + hpack::encoder::begin_bound + block_bytes +
         block_bytes / frame_bytes_min_max * frame_header_bytes;
}
}  // namespace

// --- headers

bool connection::begin_headers(stream_ref ref) noexcept try {
  stream* const s = find(ref);
  if (!s || !s->can_send() || !s->queue.empty() || failed_) return false;
  write_header_frame_start(*s);
  return true;
} catch (const std::bad_alloc&) {
  out_of_memory();
  return false;
}

void connection::write_header_frame_start(stream& s) {
  CORACLE_ASSERT(!header_block_stream_, "end_headers() must come before the next begin_headers()");
  std::uint8_t* const out = output_.reserve(frame_header_bytes + hpack::encoder::begin_bound);
  if (s.id == 0) number_own(s);
  header_block_stream_ = &s;
  header_block_at_ = output_.size();
  header_block_inserted_ = encoder_.update_pending() ? ~std::uint64_t{0} : encoder_.table().inserted();
  output_.commit(static_cast<std::size_t>(encoder_.begin_block(out + frame_header_bytes) - out));
}

// RFC 9113 5.1.1: ids grow in the order of HEADERS, so a client's stream gets its id only with them.
void connection::number_own(stream& s) {
  number(s, next_own_id_);
  s.opened_at = now_;
  next_own_id_ += 2;
  --unnumbered_count_;
}

void connection::add_field(std::string_view name, std::string_view value, indexing policy) noexcept try {
  if (failed_) return;
  CORACLE_ASSERT(header_block_stream_, "add_field() outside of begin_headers() and end_headers()");
  if (name == ":method" && value == "HEAD") header_block_stream_->is_head_request = true;
  std::uint8_t* const out = output_.reserve(hpack::encoder::bound(name.size(), value.size()));
  output_.commit(static_cast<std::size_t>(encoder_.encode(out, name, value, policy) - out));
} catch (const std::bad_alloc&) {
  out_of_memory();
}

void connection::keep_fields(hpack::encoded_fields& to) const {
  to.octets.clear();
  const hpack::dynamic_table& table = encoder_.table();
  if (failed_ || table.inserted() != header_block_inserted_) return;
  const bytes_view head = output_.pending().subspan(header_block_at_ + frame_header_bytes);
  to.octets.assign(head.begin(), head.end());
  to.inserted = table.inserted();
  to.count = table.count();
}

bool connection::add_fields(const hpack::encoded_fields& kept) noexcept try {
  if (!kept.valid_with(encoder_.table())) return false;
  if (failed_) return true;
  CORACLE_ASSERT(header_block_stream_, "add_fields() outside of begin_headers() and end_headers()");
  output_.append(kept.octets);
  return true;
} catch (const std::bad_alloc&) {
  out_of_memory();
  return true;
}

bool connection::send_fields(stream_ref ref, const hpack::encoded_fields& kept) noexcept try {
  stream* const s = find(ref);
  const std::size_t size = kept.octets.size();
  if (!s || !s->can_send() || !s->queue.empty() || failed_ || header_block_stream_) return false;
  if (!kept.valid_with(encoder_.table()) || encoder_.update_pending() || size > frame_bytes_min_max)
    return false;
  std::uint8_t* const out = output_.reserve(frame_header_bytes + size);
  if (s->id == 0) number_own(*s);
  write_frame_header(out, size, frame_type::headers, flag::end_headers, s->id);
  std::memcpy(out + frame_header_bytes, kept.octets.data(), size);
  output_.commit(frame_header_bytes + size);
  frame_written(frame_type::headers, flag::end_headers, s->id, size);
  s->headers_sent = true;
  strikes_.reset();
  advance(*s, stream_input::send_headers);
  return true;
} catch (const std::bad_alloc&) {
  out_of_memory();
  return false;
}

void connection::end_headers(bool end_stream) noexcept try {
  if (failed_) return;
  CORACLE_ASSERT(header_block_stream_, "end_headers() without begin_headers()");
  finish_header_block(end_stream);
} catch (const std::bad_alloc&) {
  out_of_memory();
}

// Writes the frame header in front of the block. If the block is too long for one frame, moves its parts,
// starting from the end, to make room for the headers of CONTINUATION frames.
bool connection::finish_header_block(bool end_stream) {
  const std::size_t size = output_.size() - header_block_at_ - frame_header_bytes;
  const std::size_t more = size == 0 ? 0 : (size - 1) / frame_bytes_min_max;
  std::uint8_t* const end = output_.reserve(more * frame_header_bytes);
  stream& s = *std::exchange(header_block_stream_, nullptr);
  std::uint8_t* const begin = end - size - frame_header_bytes;
  for (std::size_t i = more; i > 0; --i) {
    const std::size_t at = i * frame_bytes_min_max;
    const std::size_t n = std::min<std::size_t>(size - at, frame_bytes_min_max);
    std::uint8_t* const to = begin + (i + 1) * frame_header_bytes + at;
    std::memmove(to, begin + frame_header_bytes + at, n);
    write_frame_header(to - frame_header_bytes, n, frame_type::continuation,
                       i == more ? flag::end_headers : flag::none, s.id);
  }
  output_.commit(more * frame_header_bytes);
  const unsigned flags = (more == 0 ? flag::end_headers : 0u) | (end_stream ? flag::end_stream : 0u);
  frame_written(frame_type::headers, flags, s.id, std::min<std::size_t>(size, frame_bytes_min_max));
  for (std::size_t i = 1; i <= more; ++i)
    frame_written(frame_type::continuation, i == more ? flag::end_headers : flag::none, s.id,
                  std::min<std::size_t>(size - i * frame_bytes_min_max, frame_bytes_min_max));
  write_frame_header(begin, std::min<std::size_t>(size, frame_bytes_min_max), frame_type::headers,
                     static_cast<std::uint8_t>(flags), s.id);
  s.headers_sent = true;
  strikes_.reset();
  if (end_stream) return end_sent(s, stream_input::send_headers_end);
  advance(s, stream_input::send_headers);
  return true;
}

bool connection::send_block(stream_ref ref, bytes_view bytes, bool end_stream) {
  stream* const s = find(ref);
  if (!s || !s->can_send() || failed_) return false;
  if (!s->queue.empty()) {
    std::unique_ptr<std::uint8_t[]> copy(new std::uint8_t[bytes.size()]);
    if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
    enqueue(*s, std::move(copy), bytes.size(), true, end_stream);
    schedule(*s);
    return true;
  }
  output_.reserve(complete_block_bytes(bytes.size()));  // reserves everything: nothing throws after this
  write_header_frame_start(*s);
  output_.append(bytes);
  finish_header_block(end_stream);
  return true;
}

bool connection::answer_with_block(stream_ref ref, std::span<const bytes_view> pieces) {
  stream* const s = find(ref);
  std::size_t size = 0;
  for (const bytes_view piece : pieces) size += piece.size();
  if (!s || s->headers_sent || !s->can_send() || !s->queue.empty() || failed_) return false;
  if (header_block_stream_ || encoder_.update_pending() || size > frame_bytes_min_max) return false;
  // With the frames that return credit for the content: nothing throws after this.
  constexpr std::size_t credit_bytes = 2 * (frame_header_bytes + 8);
  output_.reserve(frame_header_bytes + size + credit_bytes);
  if (bytes_view content; peek_content(ref, frame_bytes_min_max, content)) take_content(ref, content);
  if (failed_) return false;
  std::uint8_t* out = output_.reserve(frame_header_bytes + size);
  write_frame_header(out, size, frame_type::headers, flag::end_headers | flag::end_stream, s->id);
  out += frame_header_bytes;
  for (const bytes_view piece : pieces) {
    if (!piece.empty()) std::memcpy(out, piece.data(), piece.size());
    out += piece.size();
  }
  output_.commit(frame_header_bytes + size);
  frame_written(frame_type::headers, flag::end_headers | flag::end_stream, s->id, size);
  strikes_.reset();
  end_answered(*s);
  return true;
}

// Call when the whole response is in the output, and the user has finished with the stream.
void connection::end_answered(stream& s) {
  s.headers_sent = true;
  s.released = true;  // first: if the stream closes now, it is destroyed at once
  s.wants_writable = false;
  if (block_stream_ == &s) block_stream_ = nullptr;
  end_sent(s, stream_input::send_headers_end);
}

// Call when END_STREAM is in the output. Returns false, for the convenience of callers: there is nothing more
// to send, and a released stream may have been destroyed.
bool connection::end_sent(stream& s, stream_input input) {
  const stream_ref ref = streams_.ref_to(s);
  const bool ended_by_user = s.released && !is_closed(transition_of(s.state, input).next);
  advance(s, input);
  // RFC 9113 8.1: a server that has sent its whole response may ask the client, without error, to stop
  // sending.
  if (ended_by_user) reset(ref, side_ == role::server ? error_code::no_error : error_code::cancel);
  return false;
}

// --- data

std::uint8_t* connection::reserve_data(stream_ref ref, std::size_t n) {
  stream* const s = find(ref);
  if (!s || !s->headers_sent || !s->can_send() || !s->queue.empty() || failed_) return nullptr;
  if (n > frame_bytes_min_max || n > s->send.available() || n > send_.available()) return nullptr;
  reserved_bytes_ = n;
  return output_.reserve(frame_header_bytes + n) + frame_header_bytes;
}

void connection::commit_data(stream_ref ref, std::size_t n, bool end_stream) noexcept try {
  stream* const s = find(ref);
  CORACLE_ASSERT(s && n <= reserved_bytes_, "commit_data() of more than reserve_data() returned");
  if (n == 0 && !end_stream) return;
  write_frame_header(output_.reserve(frame_header_bytes + n), n, frame_type::data,
                     end_stream ? flag::end_stream : flag::none, s->id);
  output_.commit(frame_header_bytes + n);
  frame_written(frame_type::data, end_stream ? flag::end_stream : flag::none, s->id, n);
  reserved_bytes_ = 0;
  s->send.take(static_cast<std::uint32_t>(n));
  send_.take(static_cast<std::uint32_t>(n));
  count_data(n);
  if (end_stream) end_sent(*s, stream_input::send_data_end);
} catch (const std::bad_alloc&) {
  out_of_memory();
}

std::uint8_t* connection::reserve_reply(stream_ref ref, const unary_response& r) {
  stream* const s = find(ref);
  const std::size_t n = r.message_bytes;
  if (!s || s->headers_sent || !s->can_send() || !s->queue.empty() || failed_ || encoder_.update_pending())
    return nullptr;
  if (n > frame_bytes_min_max || n > s->send.available() || n > send_.available()) return nullptr;
  constexpr std::size_t recorded_trailers_max = 255;  // see event_kind::reply_sent
  if (r.head.size() > frame_bytes_min_max || r.trailers.size() > recorded_trailers_max) return nullptr;
  reserved_bytes_ = n;
  std::uint8_t* const out = output_.reserve(3 * frame_header_bytes + r.head.size() + n + r.trailers.size());
  write_frame_header(out, r.head.size(), frame_type::headers, flag::end_headers, s->id);
  std::memcpy(out + frame_header_bytes, r.head.data(), r.head.size());
  return out + 2 * frame_header_bytes + r.head.size();
}

void connection::commit_reply(stream_ref ref, const unary_response& r) noexcept try {
  stream* const s = find(ref);
  const std::size_t n = r.message_bytes;
  CORACLE_ASSERT(s && n == reserved_bytes_, "commit_reply() without its reserve_reply()");
  const std::size_t whole = 3 * frame_header_bytes + r.head.size() + n + r.trailers.size();
  std::uint8_t* const data = output_.reserve(whole) + frame_header_bytes + r.head.size();
  write_frame_header(data, n, frame_type::data, flag::none, s->id);
  std::uint8_t* const end = data + frame_header_bytes + n;
  write_frame_header(end, r.trailers.size(), frame_type::headers, flag::end_headers | flag::end_stream,
                     s->id);
  std::memcpy(end + frame_header_bytes, r.trailers.data(), r.trailers.size());
  output_.commit(whole);
  events_.ring().reply_sent(events_.number(), s->id, r.head.size(), n, r.trailers.size());
  reserved_bytes_ = 0;
  s->send.take(static_cast<std::uint32_t>(n));
  send_.take(static_cast<std::uint32_t>(n));
  count_data(n);
  end_answered(*s);
} catch (const std::bad_alloc&) {
  out_of_memory();
}

bool connection::queue_data(stream_ref ref, std::unique_ptr<std::uint8_t[]> bytes, std::size_t n,
                            bool end_stream) {
  stream* const s = find(ref);
  if (!s || !s->headers_sent || !s->can_send() || failed_) return false;
  if (n == 0 && !end_stream) return true;
  enqueue(*s, std::move(bytes), n, false, end_stream);
  schedule(*s);
  return true;
}

void connection::enqueue(stream& s, std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool is_block,
                         bool end_stream) {
  const std::uint32_t place = chunk_pool::index_of(chunks_.emplace());  // first: nothing throws after it
  subtract_from_sums(s);
  s.queue.push(chunks_, place, std::move(bytes), n, is_block, end_stream);
  count(s);
}

// DATA was sent: the peer may legitimately update its windows and measure the round trip.
void connection::count_data(std::size_t n) noexcept {
  allow_updates(updates_for(n));
  if (ping_allowance_ < pings_ahead) ++ping_allowance_;
  strikes_.reset();
  data_sent_ += n;
}

void connection::subtract_from_sums(const stream& s) noexcept {
  queued_bytes_ -= s.queue.bytes();
  if (s.queue.ends()) unread_bytes_ -= s.queue.bytes();
}

void connection::count(const stream& s) noexcept {
  queued_bytes_ += s.queue.bytes();
  if (s.queue.ends()) unread_bytes_ += s.queue.bytes();
}

// Links the stream where produce() finds it if it can send, and unlinks it if it cannot.
void connection::schedule(stream& s) noexcept {
  if (s.queue.empty()) return s.send_hook::unlink();
  const bool free = s.queue.front_is_free(chunks_);
  if (!free && s.send.available() == 0) return s.send_hook::unlink();
  if (s.send_hook::linked()) return;
  (free ? ready_free_ : ready_data_).push_back(s);
}

void connection::produce(std::size_t max_bytes) noexcept try {
  while (!failed_ && output_.size() < max_bytes) {
    send_hook* next = ready_free_.pop_front();
    if (!next && send_.available() > 0) next = ready_data_.pop_front();
    if (!next) return;
    send_turn(*static_cast<stream*>(next));
  }
} catch (const std::bad_alloc&) {
  out_of_memory();
}

// Sends one frame, or a block together with the data frame before it.
void connection::send_turn(stream& s) {
  if (!s.queue.front(chunks_).is_block && !send_data_frame(s)) return;
  if (!s.queue.empty() && s.queue.front(chunks_).is_block) {
    const send_chunk& c = s.queue.front(chunks_);
    const bool ends = c.end_stream;
    write_header_frame_start(s);
    output_.append({c.bytes.get(), c.size});
    subtract_from_sums(s);
    s.queue.pop(chunks_);
    count(s);
    if (!finish_header_block(ends)) return;
  }
  report_if_writable(s);
  schedule(s);
}

// Returns false if the stream may have been destroyed.
bool connection::send_data_frame(stream& s) {
  const std::size_t max_bytes = std::min({frame_bytes_min_max, s.send.available(), send_.available()});
  const std::size_t n = s.queue.data_ready(chunks_, max_bytes);
  std::uint8_t* const out = output_.reserve(frame_header_bytes + n);
  subtract_from_sums(s);
  const bool ends = s.queue.take_data(chunks_, out + frame_header_bytes, n);
  count(s);
  write_frame_header(out, n, frame_type::data, ends ? flag::end_stream : flag::none, s.id);
  output_.commit(frame_header_bytes + n);
  frame_written(frame_type::data, ends ? flag::end_stream : flag::none, s.id, n);
  s.send.take(static_cast<std::uint32_t>(n));
  send_.take(static_cast<std::uint32_t>(n));
  count_data(n);
  if (!ends) return true;
  report_if_writable(s);
  return end_sent(s, stream_input::send_data_end);
}

void connection::want_writable(stream_ref ref, std::size_t low_bytes) {
  stream* const s = find(ref);
  if (!s || s->released || (is_closed(s->state) && s->state != stream_state::ended)) return;
  s->wants_writable = true;
  s->low_bytes = low_bytes;
  report_if_writable(*s);
}

void connection::report_if_writable(stream& s) noexcept {
  if (!s.wants_writable || s.queue.bytes() > s.low_bytes) return;
  s.wants_writable = false;
  if (!s.writable_hook::linked()) writables_.push_back(s);
  pending_ = true;
}

// --- credit

// A DATA frame may cause an update for its stream and one for the connection, or more if the peer reads in
// small pieces; some peers also update streams when they open. These updates are not charged; see
// on_window_update().
void connection::allow_updates(std::uint32_t n) noexcept {
  constexpr std::uint32_t allowance_max = 1u << 20;
  update_allowance_ = std::min(update_allowance_ + n, allowance_max);
}

void connection::consume(stream_ref ref, std::size_t n) noexcept try {
  stream* const s = find(ref);
  if (!s || s->released || !may_receive(s->state)) return;
  const auto given = static_cast<std::uint32_t>(std::min<std::size_t>(n, s->held_bytes));
  s->held_bytes -= given;
  s->receive.give_back(given);
  const std::uint32_t window_target = credit_withheld_ ? 0 : path_.window_target_bytes();
  if (const std::uint32_t increment = s->receive.announce(window_target))
    write_window_update(s->id, increment);
} catch (const std::bad_alloc&) {
  out_of_memory();
}

void connection::withhold_credit(bool on) noexcept try {
  credit_withheld_ = on;
  return_connection_credit();
} catch (const std::bad_alloc&) {
  out_of_memory();
}

void connection::return_connection_credit() {
  if (credit_withheld_ || failed_) return;
  receive_.widen(path_.window_target_bytes());
  const std::uint32_t increment = receive_.announce();
  if (increment == 0) return;
  write_window_update(0, increment);
  if (path_.should_probe(now_, receive_.size_bytes(), limit_.grown_window_bytes))
    write_ping(window_ping, false);
}

bool connection::answers_window_ping(std::uint64_t opaque) noexcept {
  return opaque == window_ping && path_.answered(now_);
}

// --- streams: finding, creating, closing, releasing

stream* connection::find_id(stream_id id) noexcept {
  if (recent_ && recent_->id == id) return recent_;
  const std::uint32_t place = index_.find(id);
  return place == stream_index::no_place ? nullptr : recent_ = &streams_[place];
}

// Even ids would be those of pushed streams, which neither role permits.
stream_state connection::state_of(stream_id id) const noexcept {
  const bool used = side_ == role::server ? id <= highest_peer_id_ : id < next_own_id_;
  return used && (id & 1) != 0 ? closed_.find(id) : stream_state::idle;
}

stream& connection::make_stream(void* user) {
  stream& s = streams_.emplace(user, peer_.initial_window_bytes, stream_receive_bytes_);
  ++open_count_;
  alive_.call_begins();
  record_limit();
  allow_updates(1);
  return s;
}

void connection::number(stream& s, stream_id id) {
  index_.insert(id, streams_.index_of(s));
  s.id = id;
}

void connection::advance(stream& s, stream_input input) noexcept {
  const transition& t = transition_of(s.state, input);
  CORACLE_ASSERT(t.verdict == stream_verdict::take,
                 "a stream was moved into a state that its transition does not permit");
  if (is_closed(t.next)) close(s, t.next);
  else s.state = t.next;
}

void connection::close(stream& s, stream_state end_state) noexcept {
  if (s.id != 0) {
    index_.erase(s.id);
    closed_.remember(s.id, end_state);
  } else {
    --unnumbered_count_;
  }
  s.state = end_state;
  subtract_from_sums(s);
  s.queue.clear(chunks_);
  s.send_hook::unlink();
  // A waiter for the last bytes of a stream that ended normally is still notified when they have been sent.
  if (end_state != stream_state::ended || s.released) s.writable_hook::unlink();
  if (recent_ == &s) recent_ = nullptr;
  if (data_stream_ == &s) data_stream_ = nullptr;
  if (header_block_stream_ == &s) header_block_stream_ = nullptr;
  --open_count_;
  if (std::exchange(s.awaits_reset, false)) --pacing_->awaiting;
  record_limit();
  if (s.released) erase(s);
}

void connection::erase(stream& s) noexcept {
  if (block_stream_ == &s) block_stream_ = nullptr;
  kept_bytes_ -= s.header_block_bytes + s.kept_bytes;
  streams_.erase(s);
}

// Ends the stream abnormally and notifies its user. On the wire it may already have ended normally.
void connection::end(stream& s, stream_state end_state, error_code code, initiator by,
                     std::string_view reason, bool unprocessed, bool with_connection) noexcept {
  const bool report = !s.released;
  if (!is_closed(s.state)) close(s, end_state);
  if (!report) return;
  s.writable_hook::unlink();
  s.end_code = code;
  s.end_by = by;
  s.end_reason = reason;
  s.end_unprocessed = unprocessed;
  s.end_with_connection = with_connection;
  resets_.push_back(s);
  pending_ = true;
}

// Handles a stream error (RFC 9113 5.4.2). s: null if the stream is closed.
void connection::stream_fault(stream* s, stream_id id, error_code code, std::string_view reason) {
  if (s && is_closed(s->state)) {
    // The user's own reset is not reported to it. A stream that ended normally on the wire turns out to be
    // invalid.
    if (s->state == stream_state::ended) end(*s, stream_state::ended, code, initiator::library, reason);
    return;
  }
  // A well-behaved client that does not know our limit yet may exceed it.
  const bool unknowing = code == error_code::refused_stream && !settings_acked_;
  // A refused stream started no call, however early it was reset.
  if (unknowing ? !charge_control() : !charge_reset(code == error_code::refused_stream ? 0 : id)) return;
  write_rst_stream(id, code);
  if (s) end(*s, stream_state::reset_sent, code, initiator::library, reason);
  else closed_.remember(id, stream_state::reset_sent);
  answered(frame_header_bytes + 4);
}

stream_ref connection::open(void* user, time_point now) {
  CORACLE_ASSERT(side_ == role::client, "servers do not open streams");
  now_ = std::max(now_, now);
  if (!can_open()) return no_stream;
  stream& s = make_stream(user);
  ++unnumbered_count_;
  return streams_.ref_to(s);
}

bool connection::can_open() const noexcept {
  if (side_ == role::server || failed_ || draining_ || peer_goes_away_ || at_limit()) return false;
  // RFC 9113 5.1.1: ids are not reused; when they are exhausted, a new connection is required.
  return next_own_id_ / 2 + unnumbered_count_ < limit_.own_streams;
}

void connection::reset(stream_ref ref, error_code code) noexcept try {
  stream* s = find(ref);
  if (!s || is_closed(s->state)) return;
  // The peer's table would miss the insertions of the rest of the block.
  if (header_block_stream_ == s)
    return fail(error_code::internal_error, "reset of a stream whose header block is incomplete",
                initiator::user);
  const stream_id id = s->id;
  close(*s,
        stream_state::reset_sent);  // first: if writing fails the connection, no event for this stream
  if (id != 0) write_rst_stream(id, code);
} catch (const std::bad_alloc&) {
  out_of_memory();
}

void connection::release(stream_ref ref) noexcept try {
  stream* s = find(ref);
  if (!s || s->released) return;
  if (is_closed(s->state)) {
    s->writable_hook::unlink();
    erase(*s);
    return;
  }
  s->released = true;
  s->wants_writable = false;
  s->writable_hook::unlink();
  if (block_stream_ == s) block_stream_ = nullptr;
  const bool answers = side_ == role::server || !may_receive(s->state);
  // Queued data up to the end of the stream is still sent; end_sent() does the rest.
  if (answers && s->queue.ends() && may_send(s->state)) return;
  if (side_ == role::client) return cancel(*s);
  // RFC 9113 8.1: a server that has sent its whole response may ask the client, without error, to stop
  // sending.
  const bool answered_in_full = s->state == stream_state::half_closed_local;
  reset(ref, answered_in_full ? error_code::no_error : error_code::cancel);
} catch (const std::bad_alloc&) {
  out_of_memory();
}

// --- resets of streams that a client's user has released

void connection::cancel(stream& s) {
  // One that the server has answered in full costs it nothing.
  const bool costs = s.id != 0 && may_receive(s.state);
  if (costs) {
    if (!pacing_) pacing_ = std::make_unique<reset_pacing>();
    if (!pacing_->delayed.empty() || !may_reset_now(s)) return cancel_later(s);
    ++pacing_->sent;
  }
  reset(streams_.ref_to(s), error_code::cancel);
}

bool connection::may_reset_now(const stream& s) noexcept {
  const bool early = !s.headers_received && now_ < deadline_after(s.opened_at, own_early_reset_time);
  if (early &&
      !early_reset_tokens_.take(now_, {limit_.own_early_resets_burst, limit_.own_early_resets_per_second}))
    return false;
  return reset_tokens_.take(now_, {limit_.own_resets_burst, limit_.own_resets_per_second});
}

// The stream stays open, so that the peer's limit counts it, and nothing more is sent on it. What arrives on
// it is dropped, and its window is not opened again.
void connection::cancel_later(stream& s) {
  pacing_->delayed.push_back(streams_.ref_to(s));
  s.awaits_reset = true;
  ++pacing_->awaiting;
  subtract_from_sums(s);
  s.queue.clear(chunks_);
  s.send_hook::unlink();
  if (pacing_->retry_at == never) pacing_->retry_at = deadline_after(now_, delayed_reset_pause);
}

void connection::send_delayed_resets() {
  std::vector<stream_ref>& delayed = pacing_->delayed;
  std::size_t done = 0;
  for (; done != delayed.size(); ++done) {
    stream* const s = find(delayed[done]);
    if (!s) continue;  // it has ended by itself
    if (may_receive(s->state)) {
      if (!may_reset_now(*s)) break;
      ++pacing_->sent;
    }
    reset(delayed[done], error_code::cancel);
  }
  delayed.erase(delayed.begin(), delayed.begin() + static_cast<std::ptrdiff_t>(done));
  pacing_->retry_at = delayed.empty() ? never : deadline_after(now_, delayed_reset_pause);
}

// --- outgoing control frames

void connection::write_rst_stream(stream_id id, error_code code) {
  if (counts_) counts_->resets_sent.add(code);
  // The number of header blocks that the peer may send before it sees this: response, trailers, a 1xx, and
  // one spare.
  constexpr std::uint32_t blocks_in_flight = 4;
  constexpr std::uint32_t allowance_max = 1u << 16;
  stray_allowance_ = std::min(stray_allowance_ + blocks_in_flight, allowance_max);
  std::uint8_t* const out = output_.reserve(frame_header_bytes + 4);
  store_u32(write_frame_header(out, 4, frame_type::rst_stream, flag::none, id),
            static_cast<std::uint32_t>(code));
  output_.commit(frame_header_bytes + 4);
  frame_written(frame_type::rst_stream, flag::none, id, 4);
  record_value(frame_type::rst_stream, true, id, static_cast<std::uint32_t>(code));
}

void connection::write_window_update(stream_id id, std::uint32_t increment) {
  std::uint8_t* const out = output_.reserve(frame_header_bytes + 4);
  store_u32(write_frame_header(out, 4, frame_type::window_update, flag::none, id), increment);
  output_.commit(frame_header_bytes + 4);
  frame_written(frame_type::window_update, flag::none, id, 4);
  record_value(frame_type::window_update, true, id, increment);
}

void connection::write_ping(std::uint64_t opaque, bool ack) {
  std::uint8_t* const out = output_.reserve(frame_header_bytes + 8);
  store_u64(write_frame_header(out, 8, frame_type::ping, ack ? flag::ack : flag::none, 0), opaque);
  output_.commit(frame_header_bytes + 8);
  frame_written(frame_type::ping, ack ? flag::ack : flag::none, 0, 8);
}

void connection::write_goaway(stream_id last, error_code code, std::string_view debug) {
  if (counts_) counts_->goaways_sent.add(code);
  debug = debug.substr(0, 256);
  std::uint8_t* const out = output_.reserve(frame_header_bytes + 8 + debug.size());
  std::uint8_t* const payload = write_frame_header(out, 8 + debug.size(), frame_type::goaway, flag::none, 0);
  store_u32(payload, last);
  store_u32(payload + 4, static_cast<std::uint32_t>(code));
  if (!debug.empty()) std::memcpy(payload + 8, debug.data(), debug.size());
  output_.commit(frame_header_bytes + 8 + debug.size());
  frame_written(frame_type::goaway, flag::none, 0, 8 + debug.size());
  record_value(frame_type::goaway, true, last, static_cast<std::uint32_t>(code));
}

// Answers cost a peer nothing, so the number of bytes of answers in the output is limited
// (limits::output_bytes). The rest of the output is limited by flow control and by the user that fills it.
bool connection::answered(std::size_t n) {
  const std::size_t before = output_.size() - std::min(n, output_.size());
  answer_bytes_ = std::min(answer_bytes_, before) + n;
  if (answer_bytes_ <= limit_.output_bytes) return true;
  fail(error_code::enhance_your_calm, "unread responses to control frames exceed limits::output_bytes",
       initiator::library);
  return false;
}

bool connection::charge(token_bucket& bucket, token_rate rate, std::string_view reason) {
  if (bucket.take(now_, rate)) return true;
  fail(error_code::enhance_your_calm, reason, initiator::library);
  return false;
}

// Only a client can cause work by opening streams and having them reset: a server resets streams that we
// requested.
bool connection::charge_reset(stream_id id) {
  if (side_ == role::client) return true;
  const token_rate early{limit_.early_resets_burst, limit_.early_resets_per_second};
  if (id > fed_from_ && !charge(early_reset_tokens_, early,
                                "streams that are reset when opened exceed limits::early_resets_per_second"))
    return false;
  return charge(reset_tokens_, {limit_.resets_burst, limit_.resets_per_second},
                "stream resets exceed limits::resets_per_second");
}
bool connection::charge_control() {
  return charge(control_tokens_, {limit_.control_frames_burst, limit_.control_frames_per_second},
                "control frames exceed limits::control_frames_per_second");
}
bool connection::charge_empty() {
  return charge(empty_tokens_, {limit_.empty_frames_burst, limit_.empty_frames_per_second},
                "empty frames exceed limits::empty_frames_per_second");
}
bool connection::charge_stray_block() {
  if (stray_allowance_ == 0) return charge_control();
  --stray_allowance_;
  return true;
}

// --- drains, failures, timers

namespace {
// The payload of the PING after the first GOAWAY; its ack shows that the client has seen the GOAWAY.
constexpr std::uint64_t drain_ping = 0x636f7261636c6521;
// The payload of PINGs for limits::keepalive; their answers count like any other bytes.
constexpr std::uint64_t keepalive_ping = 0x616c6976653f2121;
}  // namespace

// RFC 9113 5.4.1: connection error.
void connection::fail(error_code code, std::string_view reason, initiator by) noexcept {
  if (failed_) return;
  if (std::exchange(header_block_stream_, nullptr))
    output_.retract(output_.size() - header_block_at_);  // it would never be completed
  try {
    write_goaway(last_reported_id_, code, reason);
  } catch (const std::bad_alloc&) {
    // The peer will notice the end of the byte stream.
  }
  end_everything(code, by == initiator::user ? std::string_view("closed by the user") : reason, by);
}

void connection::fail(error_code code, std::string_view reason) noexcept {
  fail(code, reason, initiator::user);
}

void connection::out_of_memory() noexcept {
  fail(error_code::enhance_your_calm, "out of memory", initiator::library);
}

connection::progress connection::connection_error(error_code code, std::string_view reason) noexcept {
  fail(code, reason, initiator::library);
  return progress::again;
}

connection::progress connection::die_in_state(error_code code, const char* frame, stream_id id,
                                              stream_state in) noexcept {
  constexpr std::size_t bytes_max = 80;
  if (failed_) return progress::again;
  state_reason_.reset(new (std::nothrow) char[bytes_max]);
  if (!state_reason_)
    return connection_error(code, "frame not permitted in the state of its stream (RFC 9113 5.1)");
  std::snprintf(state_reason_.get(), bytes_max, "%s on stream %u in state %s (RFC 9113 5.1)", frame,
                static_cast<unsigned>(id), name_of(in));
  return connection_error(code, state_reason_.get());
}

void connection::end_everything(error_code code, std::string_view reason, initiator by,
                                stream_id unsent_from) noexcept {
  if (failed_) return;
  failed_ = true;
  in_ = {};
  block_open_ = block_good_ = false;
  // A block that was not read may have ended its stream on the wire, while its user waits for the contents.
  if (stream* const unread = std::exchange(block_stream_, nullptr);
      unread && unread->state == stream_state::ended)
    end(*unread, stream_state::ended, code, by, reason, false, true);
  goaway_first_ = false;
  settings_pending_ = slots_pending_ = false;
  const std::uint32_t bound = streams_.bound();
  for (std::uint32_t i = 0; i < bound; ++i) {
    if (!streams_.live(i) || is_closed(streams_[i].state)) continue;
    stream& s = streams_[i];
    // Writable events of streams that have ended normally remain: their users get no other event.
    end(s, stream_state::reset_sent, code, by, reason,
        side_ == role::client && (s.id == 0 || s.id >= unsent_from), true);
  }
  failed_pending_ = pending_ = true;
  failed_code_ = code;
  failed_by_ = by;
  failed_reason_ = reason;
}

// For a server this is the client's cancellation, for a client a network failure.
void connection::feed_end(time_point now) noexcept {
  now_ = now;
  if (side_ == role::server) return end_everything(error_code::cancel, "connection closed", initiator::peer);
  // The output cannot be answered any more, and the peer certainly has not seen it.
  if (!failed_) output_.clear();
  end_everything(error_code::internal_error, "connection closed", initiator::peer, kept_from_);
}

// RFC 9113 6.8: the first GOAWAY admits streams that are already in flight; a round trip later the final one
// can name the last stream.
void connection::drain() noexcept try {
  if (failed_ || draining_) return;
  draining_ = true;
  if (side_ == role::client) return;
  goaway_first_ = true;
  if (open_count_ == 0) drained_at_ = last_reported_id_;
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
  goaway_last_id_ = last_reported_id_;
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
  // One by one: GCC keeps a list of them in memory.
  time_point next = std::min(std::min(drain_deadline_, block_deadline_), alive_.next());
  if (!settings_acked_) [[unlikely]]
    next = std::min(next, settings_deadline_);
  if (pacing_) [[unlikely]]
    next = std::min(next, pacing_->retry_at);
  return next;
}

void connection::on_timeout(time_point now) noexcept try {
  now_ = now;
  if (failed_) return;
  // RFC 9113 6.5.3.
  if (!settings_acked_ && now >= settings_deadline_)
    return fail(error_code::settings_timeout, "SETTINGS were not acknowledged in time (RFC 9113 6.5.3)",
                initiator::library);
  if (now >= block_deadline_)
    return fail(error_code::enhance_your_calm,
                "incomplete frame or header block exceeds limits::header_timeout", initiator::library);
  if (now >= drain_deadline_) drain_now();
  if (pacing_ && now >= pacing_->retry_at) send_delayed_resets();
  if (!failed_) send_keepalive();
} catch (const std::bad_alloc&) {
  out_of_memory();
}

void connection::send_keepalive() {
  switch (alive_.on_time(now_, open_count_ != 0)) {
    case keepalive::verdict::nothing: return;
    case keepalive::verdict::ping: return write_ping(keepalive_ping, false);
    case keepalive::verdict::dead:
      return fail(error_code::no_error, "the peer did not answer a keepalive PING", initiator::library);
  }
}

bool connection::take_pending(event& e) {
  if (auto* hook = resets_.pop_front()) {
    stream& s = *static_cast<stream*>(hook);
    e.type = event::kind::reset;
    e.stream = streams_.ref_to(s);
    e.id = s.id;
    e.user = s.user;
    e.code = s.end_code;
    e.by = s.end_by;
    e.reason = s.end_reason;
    e.unprocessed = s.end_unprocessed;
    e.with_connection = s.end_with_connection;
    return true;
  }
  if (std::exchange(settings_pending_, false)) {
    e.type = event::kind::settings;
    return true;
  }
  if (std::exchange(slots_pending_, false) && can_open()) {
    e.type = event::kind::slots;
    return true;
  }
  if (auto* hook = writables_.pop_front()) {
    stream& s = *static_cast<stream*>(hook);
    e.type = event::kind::writable;
    e.stream = streams_.ref_to(s);
    e.id = s.id;
    e.user = s.user;
    return true;
  }
  pending_ = false;
  if (!std::exchange(failed_pending_, false)) return false;
  e.type = event::kind::failed;
  e.code = failed_code_;
  e.by = failed_by_;
  e.reason = failed_reason_;
  return true;
}

// --- memory

void connection::set_kept(stream_ref ref, std::size_t bytes) noexcept {
  stream* const s = find(ref);
  if (s) kept_bytes_ += bytes - std::exchange(s->kept_bytes, bytes);
}

std::size_t connection::memory_bytes() const noexcept {
  return sizeof *this + output_.capacity() + assembly_.capacity() + block_.capacity() + queued_bytes_ +
         kept_bytes_ + streams_.bound() * sizeof(stream) + chunks_.bound() * sizeof(send_chunk) +
         encoder_.capacity_bytes() + reader_.capacity_bytes();
}

// Windows, HPACK tables and settings are kept, and so are the data of an incomplete frame and of a pending
// event.
void connection::release_idle_memory() noexcept {
  output_.release(0);
  if (reading_ == phase::payload || block_id_ != 0 || block_open_) return;
  std::vector<std::uint8_t>().swap(assembly_);
  std::vector<std::uint8_t>().swap(block_);
  reader_.release_idle_memory();
  if (streams_.size() != 0) return;
  streams_.release();
  chunks_.release();
  index_.release();
  closed_.release();
}

}  // namespace coracle::http2
