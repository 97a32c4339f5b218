// From fed bytes to frames, and DATA, whose payload is passed on in the pieces that it comes in.
#include "coracle/base/impl/assert.hpp"
#include "http2/connection.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

namespace coracle::http2 {

namespace {
// What is kept of buffers that a large frame or block has needed.
constexpr std::size_t kept_bytes = 32u << 10;

constexpr std::string_view http1_refusal_text =
    "This port speaks HTTP/2 alone, as gRPC does: HTTP/1.x and Upgrade: h2c are not supported.\n";
constexpr std::string_view http1_refusal =
    "HTTP/1.1 505 HTTP Version Not Supported\r\n"
    "content-type: text/plain\r\n"
    "content-length: 90\r\n"
    "connection: close\r\n"
    "\r\n";
static_assert(http1_refusal_text.size() == 90);

void start_over(std::vector<std::uint8_t>& buffer) {
  buffer.clear();
  if (buffer.capacity() > kept_bytes) buffer.shrink_to_fit();
}
}  // namespace

void connection::feed(bytes_view bytes, time_point now) {
  CORACLE_ASSERT(in_.empty(), "feed() again before next() has returned none");
  if (now != now_) fed_from_ = highest_peer_id_;
  now_ = now;
  alive_.heard(now);
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
  return (reading_ == phase::preface || reading_ == phase::request_line) && !failed_ && !goaway_final_;
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
          watch_unfinished();
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
    case phase::preface: return read_preface();
    case phase::request_line: return read_request_line(take_input(in_.size()));
  }
  return progress::starved;
}

// RFC 9113 3.4. A peer that sends something else does not speak HTTP/2 and would not understand a GOAWAY.
connection::progress connection::read_preface() {
  const std::size_t n = std::min(in_.size(), client_preface.size() - partial_bytes_);
  if (as_text(in_.first(n)) != client_preface.substr(partial_bytes_, n)) {
    reading_ = phase::request_line;
    std::construct_at(&first_line_);
    return read_request_line(
        as_bytes(client_preface.substr(0, std::exchange(partial_bytes_, std::uint8_t{0}))));
  }
  take_input(n);
  partial_bytes_ = static_cast<std::uint8_t>(partial_bytes_ + n);
  if (partial_bytes_ < client_preface.size()) return progress::starved;
  partial_bytes_ = 0;
  reading_ = phase::header;
  return progress::again;
}

connection::progress connection::read_request_line(bytes_view bytes) {
  using verdict = http2::request_line::verdict;
  for (const std::uint8_t b : bytes) {
    const verdict v = first_line_.take(static_cast<char>(b));
    if (v == verdict::more) continue;
    const bool http1 = v == verdict::yes;
    if (http1 && !goaway_final_) {
      // Nothing has been sent: see awaits_preface().
      output_.clear();
      output_.append(as_bytes(http1_refusal));
      if (!first_line_.is_head()) output_.append(as_bytes(http1_refusal_text));
    }
    end_everything(error_code::protocol_error, http1 ? "the peer speaks HTTP/1.x" : "bad connection preface",
                   initiator::library);
    return progress::again;
  }
  return in_.empty() ? progress::starved : progress::again;
}

connection::progress connection::read_header(event& e) {
  if (partial_bytes_ == 0 && in_.size() >= frame_header_bytes) [[likely]] {
    frame_ = read_frame_header(take_input(frame_header_bytes).data());
  } else {
    const std::size_t n = std::min(in_.size(), frame_header_bytes - partial_bytes_);
    if (n) std::memcpy(partial_.data() + partial_bytes_, in_.data(), n);
    in_ = in_.subspan(n);
    partial_bytes_ = static_cast<std::uint8_t>(partial_bytes_ + n);
    if (partial_bytes_ < frame_header_bytes) return progress::starved;
    partial_bytes_ = 0;
    frame_ = read_frame_header(partial_.data());
  }
  // RFC 9113 4.2. It could be a stream's fault for some frames; a peer that does it is broken anyway.
  if (frame_.length > limit_.max_frame_bytes)
    return die(error_code::frame_size_error, "a frame above SETTINGS_MAX_FRAME_SIZE");
  // RFC 9113 3.4: SETTINGS comes first, from either side.
  if (!peer_settings_seen_ && (frame_.type != frame_type::settings || frame_.has(flag::ack)))
    return die(error_code::protocol_error, "the first frame is not SETTINGS");
  // RFC 9113 6.10: nothing comes between the frames of a header block.
  if (block_id_ != 0 && (frame_.type != frame_type::continuation || frame_.id != block_id_))
    return die(error_code::protocol_error, "a header block was interrupted");
  if (block_id_ == 0) block_deadline_ = never;  // what was unfinished before has ended
  if (frame_.type == frame_type::data) return begin_data();
  if (frame_.type ==
      frame_type::push_promise)  // RFC 9113 8.4: neither to a server nor to a client that refused it
    return die(error_code::protocol_error, "PUSH_PROMISE");
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
    case frame_type::goaway: return on_goaway(payload);
    case frame_type::data:
    case frame_type::push_promise: break;
  }
  return progress::again;
}

// --- DATA (RFC 9113 6.1)

connection::progress connection::begin_data() {
  if (frame_.id == 0) return die(error_code::protocol_error, "DATA on stream 0");
  // RFC 9113 6.9.1: the whole payload counts, padding included, whatever becomes of the stream.
  if (!receive_.take(frame_.length))
    return die(error_code::flow_control_error, "DATA beyond the connection's window");
  receive_.give_back(frame_.length);
  path_.received(frame_.length);
  return_connection_credit();
  if (!frame_.has(flag::padded)) [[likely]]
    return begin_data_payload(0);
  if (frame_.length == 0) return die(error_code::frame_size_error, "padded DATA without a pad length");
  reading_ = phase::pad_length;
  return progress::again;
}

connection::progress connection::begin_data_payload(std::uint32_t pad) {
  const std::uint32_t pad_field = frame_.has(flag::padded) ? 1 : 0;
  if (pad + pad_field > frame_.length) return die(error_code::protocol_error, "more padding than payload");
  const bool ends = frame_.has(flag::end_stream);
  data_left_ = frame_.length - pad_field - pad;
  pad_left_ = pad;
  data_stream_ = nullptr;
  reading_ = phase::data;
  if (data_left_ == 0 && !ends && !charge_empty()) return progress::again;

  stream* s = find_id(frame_.id);
  const transition& t = transition_of(s ? s->state : state_of(frame_.id),
                                      ends ? stream_input::receive_data_end : stream_input::receive_data);
  switch (t.verdict) {
    case stream_verdict::take: break;
    case stream_verdict::stream_error:
      stream_fault(s, frame_.id, t.code, "DATA on a closed stream");
      return progress::again;
    case stream_verdict::connection_error:
      return die(t.code,
                 t.code == error_code::stream_closed ? "DATA on a closed stream" : "DATA on an idle stream");
    default: return progress::again;  // the payload is read and dropped
  }
  if (!s->receive.take(frame_.length)) {
    stream_fault(s, frame_.id, error_code::flow_control_error, "DATA beyond the stream's window");
  } else if (side_ == role::client && !s->head_received) {
    stream_fault(s, frame_.id, error_code::protocol_error, "DATA before the response's HEADERS");
  } else if (s->length_known && (ends ? data_left_ != s->length_left : data_left_ > s->length_left)) {
    stream_fault(s, frame_.id, error_code::protocol_error,
                 "DATA contradicts content-length");  // RFC 9113 8.1.1
  } else {
    s->length_left -= s->length_known ? data_left_ : 0;
    data_stream_ = s;
    if (pad_field == 0) return progress::again;
    s->receive.give_back(pad + pad_field);  // nobody will consume it
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
  // END_STREAM counts when the frame is complete.
  const bool ends = done && frame_.has(flag::end_stream);
  const bool wanted = !s->released && (!piece.empty() || ends);
  if (wanted) {
    s->held_bytes += static_cast<std::uint32_t>(piece.size());
    e.what = event::kind::data;
    e.stream = streams_.ref_to(*s);
    e.id = s->id;
    e.user = s->user;
    e.data = piece;
    e.end_stream = ends;
  }
  if (ends) advance(*s, stream_input::receive_data_end);
  return wanted ? progress::event : progress::again;
}

}  // namespace coracle::http2
