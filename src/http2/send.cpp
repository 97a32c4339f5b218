// HEADERS and DATA on their way out, and the credit for what comes in.
#include "coracle/base/impl/assert.hpp"
#include "http2/connection.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace coracle::http2 {

namespace {
constexpr std::uint32_t updates_for(std::size_t data_bytes) {
  return 2 + static_cast<std::uint32_t>(data_bytes / 1024);
}
// PINGs by which peers measure the delay (grpc-go sends one with each DATA, when the one before is answered).
constexpr std::uint8_t pings_ahead = 100;
// Asks how long a round trip takes; see bandwidth_delay.
constexpr std::uint64_t window_ping = 0x64656c61793f2121;
// What a header block takes in the output, in as many frames as it needs.
constexpr std::size_t whole_head_bytes(std::size_t block_bytes) {
  return frame_header_bytes + hpack::encoder::begin_bound + block_bytes +
         block_bytes / frame_bytes_min_max * frame_header_bytes;
}
}  // namespace

// --- headers

bool connection::begin_headers(stream_ref ref) noexcept try {
  stream* const s = find(ref);
  if (!s || !s->can_send() || !s->queue.empty() || failed_) return false;
  begin_head(*s);
  return true;
} catch (const std::bad_alloc&) {
  out_of_memory();
  return false;
}

void connection::begin_head(stream& s) {
  CORACLE_ASSERT(!head_stream_, "end_headers() must come before the next begin_headers()");
  // RFC 9113 5.1.1: ids grow in the order of HEADERS, so a stream gets its own no earlier.
  std::uint8_t* const out = output_.reserve(frame_header_bytes + hpack::encoder::begin_bound);
  if (s.id == 0) {
    number(s, next_own_id_);
    next_own_id_ += 2;
    --unnumbered_count_;
  }
  head_stream_ = &s;
  head_at_ = output_.size();
  head_inserted_ = encoder_.update_pending() ? ~std::uint64_t{0} : encoder_.table().inserted();
  output_.commit(static_cast<std::size_t>(encoder_.begin_block(out + frame_header_bytes) - out));
}

void connection::add_field(std::string_view name, std::string_view value, indexing policy) noexcept try {
  if (failed_) return;
  CORACLE_ASSERT(head_stream_, "add_field() outside of begin_headers() and end_headers()");
  if (name == ":method" && value == "HEAD") head_stream_->is_head_request = true;
  std::uint8_t* const out = output_.reserve(hpack::encoder::bound(name.size(), value.size()));
  output_.commit(static_cast<std::size_t>(encoder_.encode(out, name, value, policy) - out));
} catch (const std::bad_alloc&) {
  out_of_memory();
}

void connection::keep_fields(hpack::encoded_fields& to) const {
  to.octets.clear();
  const hpack::dynamic_table& table = encoder_.table();
  if (failed_ || table.inserted() != head_inserted_) return;
  const bytes_view head = output_.pending().subspan(head_at_ + frame_header_bytes);
  to.octets.assign(head.begin(), head.end());
  to.inserted = table.inserted();
  to.count = table.count();
}

bool connection::add_fields(const hpack::encoded_fields& kept) noexcept try {
  if (!kept.valid_with(encoder_.table())) return false;
  if (failed_) return true;
  CORACLE_ASSERT(head_stream_, "add_fields() outside of begin_headers() and end_headers()");
  output_.append(kept.octets);
  return true;
} catch (const std::bad_alloc&) {
  out_of_memory();
  return true;
}

void connection::end_headers(bool end_stream) noexcept try {
  if (failed_) return;
  CORACLE_ASSERT(head_stream_, "end_headers() without begin_headers()");
  finish_head(end_stream);
} catch (const std::bad_alloc&) {
  out_of_memory();
}

// Writes the frame header in front of the block; a block that is too long for one frame makes room for the
// headers of its CONTINUATIONs, from its back.
bool connection::finish_head(bool end_stream) {
  const std::size_t size = output_.size() - head_at_ - frame_header_bytes;
  const std::size_t more = size == 0 ? 0 : (size - 1) / frame_bytes_min_max;
  std::uint8_t* const end = output_.reserve(more * frame_header_bytes);
  stream& s = *std::exchange(head_stream_, nullptr);
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
  write_frame_header(begin, std::min<std::size_t>(size, frame_bytes_min_max), frame_type::headers,
                     static_cast<std::uint8_t>(flags), s.id);
  s.head_sent = true;
  strikes_.forgive();
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
  output_.reserve(whole_head_bytes(bytes.size()));  // all of it: nothing throws any more
  begin_head(*s);
  output_.append(bytes);
  finish_head(end_stream);
  return true;
}

// END_STREAM is in the output. False, for the callers' sake: there is nothing more to send, and a released
// stream may be gone.
bool connection::end_sent(stream& s, stream_input input) {
  const stream_ref ref = streams_.ref_to(s);
  const bool abandoned = s.released && !is_closed(transition_of(s.state, input).next);
  advance(s, input);
  // RFC 9113 8.1: a server that has answered in full may ask the client, without error, to stop sending.
  if (abandoned) reset(ref, side_ == role::server ? error_code::no_error : error_code::cancel);
  return false;
}

// --- data

std::uint8_t* connection::reserve_data(stream_ref ref, std::size_t n) {
  stream* const s = find(ref);
  if (!s || !s->head_sent || !s->can_send() || !s->queue.empty() || failed_) return nullptr;
  if (n > frame_bytes_min_max || n > s->send.available() || n > send_.available()) return nullptr;
  reserved_bytes_ = n;
  return output_.reserve(frame_header_bytes + n) + frame_header_bytes;
}

void connection::commit_data(stream_ref ref, std::size_t n, bool end_stream) noexcept try {
  stream* const s = find(ref);
  CORACLE_ASSERT(s && n <= reserved_bytes_, "commit_data() of more than reserve_data() gave");
  if (n == 0 && !end_stream) return;
  write_frame_header(output_.reserve(frame_header_bytes + n), n, frame_type::data,
                     end_stream ? flag::end_stream : flag::none, s->id);
  output_.commit(frame_header_bytes + n);
  reserved_bytes_ = 0;
  s->send.take(static_cast<std::uint32_t>(n));
  send_.take(static_cast<std::uint32_t>(n));
  count_data(n);
  if (end_stream) end_sent(*s, stream_input::send_data_end);
} catch (const std::bad_alloc&) {
  out_of_memory();
}

std::uint8_t* connection::reserve_reply(stream_ref ref, const whole_reply& r) {
  stream* const s = find(ref);
  const std::size_t n = r.message_bytes;
  if (!s || s->head_sent || !s->can_send() || !s->queue.empty() || failed_ || encoder_.update_pending())
    return nullptr;
  if (n > frame_bytes_min_max || n > s->send.available() || n > send_.available()) return nullptr;
  if (r.head.size() > frame_bytes_min_max || r.trailers.size() > frame_bytes_min_max) return nullptr;
  reserved_bytes_ = n;
  std::uint8_t* const out = output_.reserve(3 * frame_header_bytes + r.head.size() + n + r.trailers.size());
  write_frame_header(out, r.head.size(), frame_type::headers, flag::end_headers, s->id);
  std::memcpy(out + frame_header_bytes, r.head.data(), r.head.size());
  return out + 2 * frame_header_bytes + r.head.size();
}

void connection::commit_reply(stream_ref ref, const whole_reply& r) noexcept try {
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
  reserved_bytes_ = 0;
  s->head_sent = true;
  s->send.take(static_cast<std::uint32_t>(n));
  send_.take(static_cast<std::uint32_t>(n));
  count_data(n);
  s->released = true;  // first: what closes now is gone at once
  s->wants_writable = false;
  if (block_stream_ == s) block_stream_ = nullptr;
  end_sent(*s, stream_input::send_headers_end);
} catch (const std::bad_alloc&) {
  out_of_memory();
}

bool connection::queue_data(stream_ref ref, std::unique_ptr<std::uint8_t[]> bytes, std::size_t n,
                            bool end_stream) {
  stream* const s = find(ref);
  if (!s || !s->head_sent || !s->can_send() || failed_) return false;
  if (n == 0 && !end_stream) return true;
  enqueue(*s, std::move(bytes), n, false, end_stream);
  schedule(*s);
  return true;
}

void connection::enqueue(stream& s, std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool is_block,
                         bool end_stream) {
  const std::uint32_t place = chunk_pool::index_of(chunks_.emplace());  // first: nothing throws after it
  uncount(s);
  s.queue.push(chunks_, place, std::move(bytes), n, is_block, end_stream);
  count(s);
}

// DATA went out: the peer may well update its windows, and ask how long it took.
void connection::count_data(std::size_t n) noexcept {
  allow_updates(updates_for(n));
  if (ping_allowance_ < pings_ahead) ++ping_allowance_;
  strikes_.forgive();
  data_sent_ += n;
}

void connection::uncount(const stream& s) noexcept {
  queued_bytes_ -= s.queue.bytes();
  if (s.queue.ends()) unread_bytes_ -= s.queue.bytes();
}

void connection::count(const stream& s) noexcept {
  queued_bytes_ += s.queue.bytes();
  if (s.queue.ends()) unread_bytes_ += s.queue.bytes();
}

// Puts the stream where produce() finds it when it can send, and takes it away when it cannot.
void connection::schedule(stream& s) noexcept {
  if (s.queue.empty()) return s.sending_hook::unlink();
  const bool free = s.queue.front_is_free(chunks_);
  if (!free && s.send.available() == 0) return s.sending_hook::unlink();
  if (s.sending_hook::linked()) return;
  (free ? ready_free_ : ready_data_).push_back(s);
}

void connection::produce(std::size_t most_bytes) noexcept try {
  while (!failed_ && output_.size() < most_bytes) {
    sending_hook* next = ready_free_.pop_front();
    if (!next && send_.available() > 0) next = ready_data_.pop_front();
    if (!next) return;
    send_turn(*static_cast<stream*>(next));
  }
} catch (const std::bad_alloc&) {
  out_of_memory();
}

// One frame, or a block with the one before it.
void connection::send_turn(stream& s) {
  if (!s.queue.front(chunks_).is_block && !send_data_frame(s)) return;
  if (!s.queue.empty() && s.queue.front(chunks_).is_block) {
    const send_chunk& c = s.queue.front(chunks_);
    const bool ends = c.end_stream;
    begin_head(s);
    output_.append({c.bytes.get(), c.size});
    uncount(s);
    s.queue.pop(chunks_);
    count(s);
    if (!finish_head(ends)) return;
  }
  tell_if_writable(s);
  schedule(s);
}

// False if the stream is gone.
bool connection::send_data_frame(stream& s) {
  const std::size_t most = std::min({frame_bytes_min_max, s.send.available(), send_.available()});
  const std::size_t n = s.queue.data_ready(chunks_, most);
  std::uint8_t* const out = output_.reserve(frame_header_bytes + n);
  uncount(s);
  const bool ends = s.queue.take_data(chunks_, out + frame_header_bytes, n);
  count(s);
  write_frame_header(out, n, frame_type::data, ends ? flag::end_stream : flag::none, s.id);
  output_.commit(frame_header_bytes + n);
  s.send.take(static_cast<std::uint32_t>(n));
  send_.take(static_cast<std::uint32_t>(n));
  count_data(n);
  if (!ends) return true;
  tell_if_writable(s);
  return end_sent(s, stream_input::send_data_end);
}

void connection::want_writable(stream_ref ref, std::size_t low_bytes) {
  stream* const s = find(ref);
  if (!s || s->released || (is_closed(s->state) && s->state != stream_state::ended)) return;
  s->wants_writable = true;
  s->low_bytes = low_bytes;
  tell_if_writable(*s);
}

void connection::tell_if_writable(stream& s) noexcept {
  if (!s.wants_writable || s.queue.bytes() > s.low_bytes) return;
  s.wants_writable = false;
  if (!s.telling_hook::linked()) writables_.push_back(s);
  pending_ = true;
}

// --- credit

// A DATA frame may call forth an update for its stream and one for the connection, or more if the peer reads
// in small pieces; and some peers update streams as they open. So much is free; see on_window_update().
void connection::allow_updates(std::uint32_t n) noexcept {
  constexpr std::uint32_t most = 1u << 20;
  update_allowance_ = std::min(update_allowance_ + n, most);
}

void connection::consume(stream_ref ref, std::size_t n) noexcept try {
  stream* const s = find(ref);
  if (!s || s->released || !may_receive(s->state)) return;
  const auto given = static_cast<std::uint32_t>(std::min<std::size_t>(n, s->held_bytes));
  s->held_bytes -= given;
  s->receive.give_back(given);
  const std::uint32_t wanted = credit_withheld_ ? 0 : path_.wanted_bytes();
  if (const std::uint32_t increment = s->receive.announce(wanted)) write_window_update(s->id, increment);
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
  receive_.widen(path_.wanted_bytes());
  const std::uint32_t increment = receive_.announce();
  if (increment == 0) return;
  write_window_update(0, increment);
  if (path_.asks(now_, receive_.size_bytes(), limit_.grown_window_bytes)) write_ping(window_ping, false);
}

bool connection::answers_window_ping(std::uint64_t opaque) noexcept {
  return opaque == window_ping && path_.answered(now_);
}

}  // namespace coracle::http2
