#include "http2/connection.hpp"

#include "coracle/base/assert.hpp"
#include "http2/connection_state.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace coracle::http2 {

namespace {

// What the wire cannot say is brought into range.
limits sound(limits l) {
  l.initial_window_bytes = std::min(l.initial_window_bytes, window_bytes_max);
  l.connection_window_bytes = std::clamp(l.connection_window_bytes, default_window_bytes, window_bytes_max);
  l.grown_window_bytes = std::min(l.grown_window_bytes, window_bytes_max);
  l.max_frame_bytes = std::clamp(l.max_frame_bytes, frame_bytes_min_max, frame_bytes_max_max);
  l.header_table_bytes = std::min(l.header_table_bytes, hpack::table_bytes_max);
  l.own_streams = std::min(l.own_streams, (stream_id_max >> 1) + 1);  // the odd ids
  return l;
}

// A client may count on at least so many streams before the server's SETTINGS are there (RFC 9113 6.5.2
// recommends to allow no fewer).
constexpr std::uint32_t streams_before_settings = 100;

}  // namespace

connection::state::state(role r, const limits& l, time_point at)
    : side(r),
      limit(sound(l)),
      now(at),
      reading(r == role::server ? phase::preface : phase::header),
      reader(limit.header_list_bytes),
      settings_deadline(deadline_after(at, limit.settings_timeout)),
      // Until the peer has acknowledged our SETTINGS either value may be in force there (RFC 9113 6.5.3).
      stream_receive_bytes(std::max(limit.initial_window_bytes, default_window_bytes)),
      encoder(limit.encoder_table_bytes),
      path(at),
      alive(limit.keepalive, at),
      reset_tokens(at),
      early_reset_tokens(at),
      control_tokens(at),
      empty_tokens(at) {
  if (side == role::client) {
    output.append(as_bytes(client_preface));
    peer.max_concurrent_streams = streams_before_settings;
  }
  std::uint8_t* const out = output.reserve(settings_frame_bytes_max);
  output.commit(static_cast<std::size_t>(write_settings(out, limit, side == role::server) - out));
  // RFC 9113 6.9.2: the connection's window starts at 65535 whatever SETTINGS say.
  if (const std::uint32_t more = limit.connection_window_bytes - default_window_bytes) {
    write_window_update(0, more);
    receive.resize(limit.connection_window_bytes);
  }
}

connection::connection(role r, const limits& l, time_point now)
    : state_(std::make_unique<state>(r, l, now)) {}
connection::~connection() = default;

void connection::feed(bytes_view bytes, time_point now) {
  CORACLE_ASSERT(state_->in.empty(), "feed() again before next() has returned none");
  if (now != state_->now) state_->fed_from = state_->highest_peer_id;
  state_->now = now;
  state_->alive.heard(now);
  if (!state_->failed) state_->in = bytes;
}
event connection::next() noexcept { return state_->next(); }
bytes_view connection::take_unread() noexcept {
  if (state_->block_open) state_->or_fail([&] { state_->finish_block(); });
  return std::exchange(state_->in, {});
}
bool connection::next_field(field& out) noexcept {
  return state_->or_fail([&] { return state_->next_field(out); });
}
bool connection::headers_ok() const noexcept { return state_->block_good; }
std::uint32_t connection::head_number() const noexcept { return state_->reader.number(); }
bool connection::head_repeats(std::uint32_t number) noexcept {
  if (!state_->block_open || !state_->reader.repeats(number)) return false;
  return state_->or_fail([&] { return state_->settle_block(), true; });
}
void connection::set_slot(std::uint32_t slot) noexcept {
  if (state_->block_open) state_->reader.set_slot(slot);
}
bool connection::awaits_preface() const noexcept {
  using phase = state::phase;
  return (state_->reading == phase::preface || state_->reading == phase::request_line) && !state_->failed &&
         !state_->goaway_final;
}
void connection::output_taken() noexcept { state_->kept_from = state_->next_own_id; }

void connection::feed_end(time_point now) noexcept {
  state_->now = now;
  state_->feed_end();
}
void connection::consume(stream_ref s, std::size_t n) noexcept {
  state_->or_fail([&] { state_->consume(s, n); });
}
void connection::withhold_credit(bool on) noexcept {
  state_->credit_withheld = on;
  state_->or_fail([&] { state_->return_connection_credit(); });
}

void connection::release_idle_memory() noexcept { state_->release_idle_memory(); }
std::size_t connection::memory_bytes() const noexcept { return state_->memory_bytes(); }
void connection::set_kept(stream_ref s, std::size_t bytes) noexcept { state_->set_kept(s, bytes); }
std::size_t connection::unread_bytes() const noexcept { return state_->unread_bytes; }
std::uint64_t connection::data_sent() const noexcept { return state_->data_sent; }
void connection::refuse_streams(bool on) noexcept { state_->refusing = on; }
void* connection::user_of(stream_ref s) const noexcept {
  const stream* found = state_->find(s);
  return found && !found->released ? found->user : nullptr;
}

stream_ref connection::open(void* user) { return state_->open(user); }
void connection::set_user(stream_ref s, void* user) noexcept {
  if (stream* found = state_->find(s)) found->user = user;
}
void connection::release(stream_ref s) noexcept {
  state_->or_fail([&] { state_->release(s); });
}
bool connection::can_send(stream_ref s) const noexcept {
  const stream* found = state_->find(s);
  return found && found->can_send();
}
stream_id connection::id_of(stream_ref s) const noexcept {
  const stream* found = state_->find(s);
  return found ? found->id : 0;
}
std::size_t connection::open_streams() const noexcept { return state_->open_count; }
bool connection::can_open() const noexcept { return state_->can_open(); }

bool connection::begin_headers(stream_ref s) noexcept {
  return state_->or_fail([&] { return state_->begin_headers(s); });
}
void connection::add_field(std::string_view name, std::string_view value, indexing policy) noexcept {
  state_->or_fail([&] { state_->add_field(name, value, policy); });
}
void connection::add_field(std::string_view name, std::string_view value, field_memo& memo) noexcept {
  state_->or_fail([&] { state_->add_field(name, value, memo); });
}
void connection::end_headers(bool end_stream) noexcept {
  state_->or_fail([&] { state_->end_headers(end_stream); });
}
bool connection::send_block(stream_ref s, bytes_view block, bool end_stream) {
  return state_->send_block(s, block, end_stream);
}

std::uint8_t* connection::reserve_data(stream_ref s, std::size_t n) { return state_->reserve_data(s, n); }
void connection::commit_data(stream_ref s, std::size_t n, bool end_stream) noexcept {
  state_->or_fail([&] { state_->commit_data(s, n, end_stream); });
}
std::uint8_t* connection::reserve_reply(stream_ref s, const whole_reply& r) {
  return state_->reserve_reply(s, r);
}
void connection::commit_reply(stream_ref s, const whole_reply& r) noexcept {
  state_->or_fail([&] { state_->commit_reply(s, r); });
}
bool connection::queue_data(stream_ref s, std::unique_ptr<std::uint8_t[]> bytes, std::size_t n,
                            bool end_stream) {
  return state_->queue_data(s, std::move(bytes), n, end_stream);
}
std::size_t connection::queued(stream_ref s) const noexcept {
  const stream* found = state_->find(s);
  return found ? found->queue.bytes() : 0;
}
void connection::want_writable(stream_ref s, std::size_t low_bytes) { state_->want_writable(s, low_bytes); }

void connection::reset(stream_ref s, error_code code) noexcept {
  state_->or_fail([&] { state_->reset(s, code); });
}
void connection::ping(std::uint64_t opaque) noexcept {
  if (state_->failed) return;
  ++state_->pings_out;
  state_->or_fail([&] { state_->write_ping(opaque, false); });
}
void connection::drain() noexcept {
  state_->or_fail([&] { state_->drain(); });
}
void connection::drain_now() noexcept {
  state_->or_fail([&] { state_->drain_now(); });
}
void connection::fail(error_code code, std::string_view reason) noexcept {
  state_->fail(code, reason, initiator::user);
}
bool connection::all_read() const noexcept { return state_->all_read; }
bool connection::draining() const noexcept { return state_->goaway_first && !state_->failed; }
bool connection::failed() const noexcept { return state_->failed; }

std::uint32_t connection::peer_header_list_bytes() const noexcept { return state_->peer.header_list_bytes; }
std::int64_t connection::send_window_bytes() const noexcept { return state_->send.bytes(); }
std::int64_t connection::receive_window_bytes() const noexcept { return state_->receive.open_bytes(); }
std::uint64_t connection::keepalives_sent() const noexcept { return state_->alive.pings(); }
std::uint64_t connection::pings_answered() const noexcept { return state_->pings_answered; }

void connection::produce(std::size_t most_bytes) noexcept {
  state_->or_fail([&] { state_->produce(most_bytes); });
}
bool connection::has_queued() const noexcept {
  return !state_->ready_free.empty() || (!state_->ready_data.empty() && state_->send.available() > 0);
}
base::output_buffer& connection::output() noexcept { return state_->output; }
time_point connection::next_timeout() const noexcept { return state_->next_timeout(); }
void connection::on_timeout(time_point now) noexcept {
  state_->or_fail([&] { state_->on_timeout(now); });
}

}  // namespace coracle::http2
