// HEADERS and CONTINUATION (RFC 9113 6.2, 6.10 and 8).
#include "http2/connection.hpp"

#include <new>
#include <utility>

namespace coracle::http2 {

namespace {
// Of the memory for Huffman strings, which an unusually large block has made grow.
constexpr std::size_t scratch_kept_bytes = 16u << 10;
}  // namespace

connection::progress connection::on_headers(bytes_view payload, event& e) {
  if (frame_.id == 0) return die(error_code::protocol_error, "HEADERS on stream 0");
  if (frame_.has(flag::padded) && !strip_padding(payload))
    return die(error_code::protocol_error, "more padding than payload");
  block_depends_on_itself_ = false;
  if (frame_.has(flag::priority)) {
    if (payload.size() < 5) return die(error_code::frame_size_error, "HEADERS too short for its priority");
    block_depends_on_itself_ = (load_u32(payload.data()) & stream_id_max) == frame_.id;
    payload = payload.subspan(5);
  }
  block_ends_stream_ = frame_.has(flag::end_stream);
  if (payload.size() > limit_.header_block_bytes)
    return die(error_code::enhance_your_calm, "a header block is too large");
  if (frame_.has(flag::end_headers)) [[likely]]
    return on_block(frame_.id, payload, e);

  if (payload.empty() && !charge_empty()) return progress::again;
  if (block_.capacity() > limit_.header_block_bytes / 2) block_ = {};
  block_.assign(payload.begin(), payload.end());
  block_id_ = frame_.id;
  block_frames_ = 0;
  return progress::again;
}

connection::progress connection::on_continuation(bytes_view payload, event& e) {
  // RFC 9113 6.10; another stream's was refused in read_header().
  if (block_id_ == 0) return die(error_code::protocol_error, "CONTINUATION without a header block");
  if (++block_frames_ > limit_.continuations)
    return die(error_code::enhance_your_calm, "too many CONTINUATION frames");
  if (block_.size() + payload.size() > limit_.header_block_bytes)
    return die(error_code::enhance_your_calm, "a header block is too large");
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
  // RFC 9113 5.1.1: only clients open streams, by odd ids.
  if (now_in == stream_state::idle)
    return die(error_code::protocol_error, "HEADERS on a stream that cannot be opened");
  const transition& t = transition_of(
      now_in, block_ends_stream_ ? stream_input::receive_headers_end : stream_input::receive_headers);
  switch (t.verdict) {
    case stream_verdict::take: break;
    case stream_verdict::connection_error: return die(t.code, "HEADERS on a closed stream");
    case stream_verdict::stream_error:
      return refuse_block(s, id, bytes, t.code, "HEADERS on a closed stream");
    default:
      if (!charge_stray_block()) return progress::again;
      if (!reader_.skip(bytes)) return die(error_code::compression_error, reader_.reason());
      return progress::again;
  }
  // RFC 7540 5.3.1; RFC 9113 has no priorities any more, and a stream still must not depend on itself.
  if (block_depends_on_itself_)
    return refuse_block(s, id, bytes, error_code::protocol_error, "a stream depends on itself");
  if (side_ == role::client && !s->head_received)
    return give_block(*s, bytes, http::header_kind::response, e);
  if (!block_ends_stream_)  // RFC 9113 8.1: trailers end the stream
    return refuse_block(s, id, bytes, error_code::protocol_error, "trailers without END_STREAM");
  if (s->length_known && s->length_left != 0)
    return refuse_block(s, id, bytes, error_code::protocol_error, "DATA contradicts content-length");
  return give_block(*s, bytes, http::header_kind::trailers, e);
}

connection::progress connection::on_new_stream(stream_id id, bytes_view bytes, event& e) {
  highest_peer_id_ = id;
  // RFC 9113 6.8: streams behind the final GOAWAY are ignored, but their blocks are part of the compression.
  if (goaway_final_ && id > goaway_last_id_) {
    closed_.remember(id, stream_state::reset_sent);
    if (!charge_stray_block()) return progress::again;
    return reader_.skip(bytes) ? progress::again : die(error_code::compression_error, reader_.reason());
  }
  if (block_depends_on_itself_)
    return refuse_block(nullptr, id, bytes, error_code::protocol_error, "a stream depends on itself");
  // RFC 9113 5.1.2. Streams that are closed and not yet released hold memory and handlers, too: a client that
  // resets what it has just opened does not get past the limit.
  if (open_count_ >= limit_.max_concurrent_streams ||
      streams_.size() >= 2 * std::size_t{limit_.max_concurrent_streams} || refusing_)
    return refuse_block(nullptr, id, bytes, error_code::refused_stream,
                        refusing_ ? "no memory for new streams" : "too many streams");
  stream* s = nullptr;
  try {
    index_.reserve_one();  // first: a stream that is not in the index would be lost
    s = &make_stream(nullptr);
  } catch (const std::bad_alloc&) {
    return refuse_block(nullptr, id, bytes, error_code::refused_stream, "no memory for new streams");
  }
  s->id = id;
  index_.insert_reserved(id, streams_.index_of(*s));
  recent_ = s;
  last_given_id_ = id;
  s->state = stream_state::open;  // and give_block() does the rest
  return give_block(*s, bytes, http::header_kind::request, e);
}

// The block is decoded for the table's sake, and the stream fails.
connection::progress connection::refuse_block(stream* s, stream_id id, bytes_view bytes, error_code code,
                                              std::string_view reason) {
  if (!reader_.skip(bytes)) return die(error_code::compression_error, reader_.reason());
  stream_fault(s, id, code, reason);
  return progress::again;
}

// The same of a block of which fields have been read.
connection::progress connection::refuse_begun_block(stream& s, error_code code, std::string_view reason) {
  reader_.finish();
  if (reader_.result() == header_reader::outcome::undecodable)
    return die(error_code::compression_error, reader_.reason());
  stream_fault(&s, s.id, code, reason);
  return progress::again;
}

connection::progress connection::give_block(stream& s, bytes_view bytes, http::header_kind kind, event& e) {
  reader_.start(bytes, kind);
  bool informational = false;
  block_has_length_ = kind != http::header_kind::trailers;
  if (kind == http::header_kind::response) {
    const int status = reader_.peek_status();
    informational = status >= 100 && status < 200;
    if (informational) {
      // RFC 9113 8.1: an interim response is not the end.
      if (block_ends_stream_)
        return refuse_begun_block(s, error_code::protocol_error, "END_STREAM on an interim response");
      if (s.interim_responses == limit_.interim_responses)
        return refuse_begun_block(s, error_code::enhance_your_calm, "too many interim responses");
      ++s.interim_responses;
    }
    s.head_received = !informational;
    // RFC 9113 8.1.1: these have no content, whatever content-length says it would be.
    if (informational || s.is_head_request || status == 204 || status == 304) block_has_length_ = false;
  }
  block_open_ = true;
  block_good_ = false;
  block_stream_ = s.released ? nullptr : &s;
  e.what = event::kind::headers;
  e.stream = streams_.ref_to(s);
  e.id = s.id;
  e.user = s.user;
  e.end_stream = block_ends_stream_;
  e.trailers = kind == http::header_kind::trailers;
  e.informational = informational;
  const bool wanted = !s.released;
  if (block_ends_stream_) advance(s, stream_input::receive_headers_end);
  if (wanted) return progress::event;
  e = event();
  return progress::again;
}

bool connection::advance_block() noexcept try {
  if (!block_open_) return false;
  if (reader_.advance()) return true;
  settle_block();
  return false;
} catch (const std::bad_alloc&) {
  out_of_memory();
  return false;
}

bool connection::next_field(field& out) noexcept {
  if (!advance_block()) return false;
  out = reader_.current();
  return true;
}

bool connection::head_repeats(std::uint32_t number) noexcept try {
  if (!block_open_ || !reader_.repeats(number)) return false;
  settle_block();
  return true;
} catch (const std::bad_alloc&) {
  out_of_memory();
  return false;
}

// Decodes the fields that were not pulled.
void connection::finish_block() {
  reader_.finish();
  settle_block();
}

// The block has been decoded to its end.
void connection::settle_block() {
  block_open_ = false;
  reader_.release(scratch_kept_bytes);
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
      // gRPC's PROTOCOL-HTTP2.md makes RESOURCE_EXHAUSTED of this code, which is what it wants here.
      if (s) stream_fault(s, s->id, error_code::enhance_your_calm, reader_.reason());
      return;
    case header_reader::outcome::good: break;
  }
  block_good_ = true;
  if (!s) return;
  const std::uint32_t head_bytes = 2 * reader_.list_bytes();  // lists grow by doubling
  kept_bytes_ -= std::exchange(s->head_bytes, head_bytes);  // apart: trailers are shorter than a head
  kept_bytes_ += head_bytes;
  settle_good_block(*s);
}

void connection::settle_good_block(stream& s) {
  const auto length = block_has_length_ ? reader_.content_length() : std::nullopt;
  if (!length) return;
  if (block_ends_stream_ && *length != 0) {
    block_good_ = false;
    return stream_fault(&s, s.id, error_code::protocol_error, "END_STREAM contradicts content-length");
  }
  s.length_known = true;
  s.length_left = *length;
}

}  // namespace coracle::http2
