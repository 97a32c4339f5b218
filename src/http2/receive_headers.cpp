// HEADERS and CONTINUATION (RFC 9113 6.2, 6.10 and 8).
#include "http2/connection_state.hpp"

#include <utility>

namespace coracle::http2 {

namespace {
// Of the memory for Huffman strings, which an unusually large block has made grow.
constexpr std::size_t scratch_kept_bytes = 16u << 10;
}  // namespace

connection::state::progress connection::state::on_headers(bytes_view payload, event& e) {
  if (frame.id == 0) return die(error_code::protocol_error, "HEADERS on stream 0");
  if (frame.has(flag::padded) && !strip_padding(payload))
    return die(error_code::protocol_error, "more padding than payload");
  block_depends_on_itself = false;
  if (frame.has(flag::priority)) {
    if (payload.size() < 5) return die(error_code::frame_size_error, "HEADERS too short for its priority");
    block_depends_on_itself = (load_u32(payload.data()) & stream_id_max) == frame.id;
    payload = payload.subspan(5);
  }
  block_ends_stream = frame.has(flag::end_stream);
  if (payload.size() > limit.header_block_bytes)
    return die(error_code::enhance_your_calm, "a header block is too large");
  if (frame.has(flag::end_headers)) [[likely]]
    return on_block(frame.id, payload, e);

  if (payload.empty() && !charge_empty()) return progress::again;
  if (block.capacity() > limit.header_block_bytes / 2) block = {};
  block.assign(payload.begin(), payload.end());
  block_id = frame.id;
  block_frames = 0;
  return progress::again;
}

connection::state::progress connection::state::on_continuation(bytes_view payload, event& e) {
  // RFC 9113 6.10; another stream's was refused in read_header().
  if (block_id == 0) return die(error_code::protocol_error, "CONTINUATION without a header block");
  if (++block_frames > limit.continuations)
    return die(error_code::enhance_your_calm, "too many CONTINUATION frames");
  if (block.size() + payload.size() > limit.header_block_bytes)
    return die(error_code::enhance_your_calm, "a header block is too large");
  const bool complete = frame.has(flag::end_headers);
  if (payload.empty() && !complete && !charge_empty()) return progress::again;
  block.insert(block.end(), payload.begin(), payload.end());
  if (!complete) return progress::again;
  return on_block(std::exchange(block_id, 0), block, e);
}

connection::state::progress connection::state::on_block(stream_id id, bytes_view bytes, event& e) {
  stream* s = find_id(id);
  if (!s && side == role::server && (id & 1) != 0 && id > highest_peer_id) [[likely]]
    return on_new_stream(id, bytes, e);
  const stream_state now_in = s ? s->state : state_of(id);
  // RFC 9113 5.1.1: only clients open streams, by odd ids.
  if (now_in == stream_state::idle)
    return die(error_code::protocol_error, "HEADERS on a stream that cannot be opened");
  const transition& t = transition_of(
      now_in, block_ends_stream ? stream_input::receive_headers_end : stream_input::receive_headers);
  switch (t.verdict) {
    case stream_verdict::take: break;
    case stream_verdict::connection_error: return die(t.code, "HEADERS on a closed stream");
    case stream_verdict::stream_error:
      return refuse_block(s, id, bytes, t.code, "HEADERS on a closed stream");
    default:
      if (!charge_stray_block()) return progress::again;
      if (!reader.skip(bytes)) return die(error_code::compression_error, reader.reason());
      return progress::again;
  }
  // RFC 7540 5.3.1; RFC 9113 has no priorities any more, and a stream still must not depend on itself.
  if (block_depends_on_itself)
    return refuse_block(s, id, bytes, error_code::protocol_error, "a stream depends on itself");
  if (side == role::client && !s->head_received) return give_block(*s, bytes, http::header_kind::response, e);
  if (!block_ends_stream)  // RFC 9113 8.1: trailers end the stream
    return refuse_block(s, id, bytes, error_code::protocol_error, "trailers without END_STREAM");
  if (s->length_known && s->length_left != 0)
    return refuse_block(s, id, bytes, error_code::protocol_error, "DATA contradicts content-length");
  return give_block(*s, bytes, http::header_kind::trailers, e);
}

connection::state::progress connection::state::on_new_stream(stream_id id, bytes_view bytes, event& e) {
  highest_peer_id = id;
  // RFC 9113 6.8: streams behind the final GOAWAY are ignored, but their blocks are part of the compression.
  if (goaway_final && id > goaway_last_id) {
    closed.remember(id, stream_state::reset_sent);
    if (!charge_stray_block()) return progress::again;
    return reader.skip(bytes) ? progress::again : die(error_code::compression_error, reader.reason());
  }
  if (block_depends_on_itself)
    return refuse_block(nullptr, id, bytes, error_code::protocol_error, "a stream depends on itself");
  // RFC 9113 5.1.2. Streams that are closed and not yet released hold memory and handlers, too: a client that
  // resets what it has just opened does not get past the limit.
  if (open_count >= limit.max_concurrent_streams ||
      streams.size() >= 2 * std::size_t{limit.max_concurrent_streams} || refusing)
    return refuse_block(nullptr, id, bytes, error_code::refused_stream,
                        refusing ? "no memory for new streams" : "too many streams");
  stream* s = nullptr;
  try {
    index.reserve_one();  // first: a stream that is not in the index would be lost
    s = &make_stream(nullptr);
  } catch (const std::bad_alloc&) {
    return refuse_block(nullptr, id, bytes, error_code::refused_stream, "no memory for new streams");
  }
  s->id = id;
  index.insert_reserved(id, s->ref);
  last_given_id = id;
  s->state = stream_state::open;  // and give_block() does the rest
  return give_block(*s, bytes, http::header_kind::request, e);
}

// The block is decoded for the table's sake, and the stream fails.
connection::state::progress connection::state::refuse_block(stream* s, stream_id id, bytes_view bytes,
                                                            error_code code, std::string_view reason) {
  if (!reader.skip(bytes)) return die(error_code::compression_error, reader.reason());
  stream_fault(s, id, code, reason);
  return progress::again;
}

// The same of a block of which fields have been read.
connection::state::progress connection::state::refuse_begun_block(stream& s, error_code code,
                                                                  std::string_view reason) {
  reader.finish();
  if (reader.result() == header_reader::outcome::undecodable)
    return die(error_code::compression_error, reader.reason());
  stream_fault(&s, s.id, code, reason);
  return progress::again;
}

connection::state::progress connection::state::give_block(stream& s, bytes_view bytes, http::header_kind kind,
                                                          event& e) {
  reader.start(bytes, kind);
  bool informational = false;
  block_has_length = kind != http::header_kind::trailers;
  if (kind == http::header_kind::response) {
    const int status = reader.peek_status();
    informational = status >= 100 && status < 200;
    if (informational) {
      // RFC 9113 8.1: an interim response is not the end.
      if (block_ends_stream)
        return refuse_begun_block(s, error_code::protocol_error, "END_STREAM on an interim response");
      if (s.interim_responses == limit.interim_responses)
        return refuse_begun_block(s, error_code::enhance_your_calm, "too many interim responses");
      ++s.interim_responses;
    }
    s.head_received = !informational;
    // RFC 9113 8.1.1: these have no content, whatever content-length says it would be.
    if (informational || s.is_head_request || status == 204 || status == 304) block_has_length = false;
  }
  block_open = true;
  block_good = false;
  block_stream = s.released ? nullptr : &s;
  e.what = event::kind::headers;
  e.stream = s.ref;
  e.id = s.id;
  e.user = s.user;
  e.end_stream = block_ends_stream;
  e.trailers = kind == http::header_kind::trailers;
  e.informational = informational;
  const bool wanted = !s.released;
  if (block_ends_stream) advance(s, stream_input::receive_headers_end);
  if (wanted) return progress::event;
  e = event();
  return progress::again;
}

bool connection::state::next_field(field& out) {
  if (!block_open) return false;
  if (reader.next(out)) [[likely]]
    return true;
  settle_block();
  return false;
}

// Decodes the fields that were not pulled.
void connection::state::finish_block() {
  reader.finish();
  settle_block();
}

// The block has been decoded to its end.
void connection::state::settle_block() {
  block_open = false;
  reader.release(scratch_kept_bytes);
  if (reader.result() == header_reader::outcome::undecodable)
    return fail(error_code::compression_error, reader.reason(), initiator::library);  // RFC 9113 4.3
  stream* const s = std::exchange(block_stream, nullptr);
  switch (reader.result()) {
    case header_reader::outcome::reading:
    case header_reader::outcome::undecodable: return;
    case header_reader::outcome::malformed:
      if (s) stream_fault(s, s->id, error_code::protocol_error, reader.reason());
      return;
    case header_reader::outcome::too_large:
      // gRPC's PROTOCOL-HTTP2.md makes RESOURCE_EXHAUSTED of this code, which is what it wants here.
      if (s) stream_fault(s, s->id, error_code::enhance_your_calm, reader.reason());
      return;
    case header_reader::outcome::good: break;
  }
  block_good = true;
  if (!s) return;
  const std::uint32_t head_bytes = 2 * reader.list_bytes();  // lists grow by doubling
  kept_bytes -= std::exchange(s->head_bytes, head_bytes);  // apart: trailers are shorter than a head
  kept_bytes += head_bytes;
  settle_good_block(*s);
}

void connection::state::settle_good_block(stream& s) {
  const auto length = block_has_length ? reader.content_length() : std::nullopt;
  if (!length) return;
  if (block_ends_stream && *length != 0) {
    block_good = false;
    return stream_fault(&s, s.id, error_code::protocol_error, "END_STREAM contradicts content-length");
  }
  s.length_known = true;
  s.length_left = *length;
}

}  // namespace coracle::http2
