#include "transport/connection.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "coracle/base/impl/assert.hpp"
#include "security/authority_host.hpp"
#include "transport/exchange.hpp"
#include "transport/http1_session.hpp"
#include "transport/http2_instruments.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace coracle::transport {

namespace {

// A connection that has sent nothing for this long frees its buffers: active connections keep theirs, and ten
// thousand idle connections hold none.
constexpr duration idle_time = std::chrono::seconds(1);
constexpr duration deferred_timer_pause = std::chrono::milliseconds(100);

}  // namespace

connection::connection(loop& owner_loop, std::unique_ptr<net::duplex> stream, http2::role r,
                       const connection_options& o, connection_owner& owner, request_acceptor* acceptor)
    : loop_(owner_loop),
      stream_(std::move(stream)),
      engine_(r, o.http2, owner_loop.now(), base::recorded_connection(owner_loop.events())),
      owner_(owner),
      acceptor_(acceptor),
      age_policy_(o.age, owner_loop.now()),
      budget_(&owner_loop.local<decode_budget>()),
      unread_bytes_max_(o.backpressure.unread_bytes),
      stall_(o.backpressure.stall_time),
      opens_left_(o.http2.own_streams) {
  CORACLE_ASSERT((r == http2::role::server) == (acceptor != nullptr),
                 "a server's connection needs an acceptor");
  // gRFC A18: detects a dead peer while sent bytes are unacknowledged, too.
  const http2::keepalive_options& alive = o.http2.keepalive;
  if (alive.time != duration::max()) stream_->set_unacknowledged_timeout(alive.timeout);
  runnable::run = [](coro::runnable& w) noexcept {
    auto& self = static_cast<connection&>(w);
    self.flush_queued_ = false;
    self.flush();
  };
  timer::fire = [](coro::timer& t) noexcept {
    auto& self = static_cast<connection&>(t);
    if (self.closing_) {
      self.close_called_ = true;
      return self.stream_->close(self.unsent());
    }
    self.check_stall();
    // The peer's deadlines are suspended while we do not read what it has sent, and until reading has
    // resumed.
    const bool unread = self.is_deferred() || self.just_resumed_;
    self.just_resumed_ = false;
    if (unread && !self.engine([](auto& e) { return e.failed(); }))
      return self.loop_.arm(self, deadline_after(self.loop_.now(), deferred_timer_pause));
    self.engine([&](auto& e) { e.on_timeout(self.loop_.now()); });
    if (!self.closing_) self.enforce_max_age();
    if (!self.closing_) self.release_if_idle();
    if (!self.closing_) self.dispatch();
  };
  // Also for HTTP/1.1, whose input may be deferred: what counts it is made where memory may run out.
  connection_counts& counts = connection_counts::here();
  if (!o.http1) {
    engine_.count_errors_in(counts.errors);
    return;
  }
  http1_ = std::make_unique<http1_session>(*this, http1::role::client, *o.http1);
  engine_.fail(error_code::no_error, "the connection speaks HTTP/1.1");
  while (engine_.next().type != http2::event::kind::none) continue;
  engine_.output().clear();
}

// gRFC A9.
void connection::enforce_max_age() noexcept {
  switch (age_policy_.on_time(loop_.now(), open_streams() != 0)) {
    case connection_age_policy::verdict::keep_open: return;
    case connection_age_policy::verdict::drain: return drain();
    case connection_age_policy::verdict::close: return fail(error_code::no_error, "max_connection_age");
  }
}

void connection::release_if_idle() noexcept {
  if (loop_.now() < release_at_) return;
  const time_point idle_at = deadline_after(last_send_, idle_time);
  if (loop_.now() < idle_at || stream_->sending()) {
    release_at_ = std::max(idle_at, deadline_after(loop_.now(), idle_time));
    return;
  }
  release_at_ = never;
  in_flight_.release(0);
  header_cache_.reset();
  engine_.release_idle_memory();
  if (http1_) http1_->release_idle_memory();
  stream_->release_idle_memory();
  if (acceptor_) report_memory();
}

connection::~connection() {
  CORACLE_ASSERT(!flush_queued_, "a connection was destroyed before it was closed");
  if (timer::holder) loop_.disarm(*this);
}

void connection::make_peer() {
  kept_by_calls_ = std::make_shared<connection_peer>(
      connection_peer{peer_address(), auth() ? auth()->shared_from_this() : nullptr});
}

bool connection::covers(std::string_view authority) noexcept {
  if (!auth() || (authority_ && *authority_ == authority)) return true;
  if (!security::is_host_with_port(authority) || !stream_->covers(security::host_of(authority))) return false;
  base::if_memory_allows([&] { authority_ = std::make_unique<std::string>(authority); });
  return true;
}

std::shared_ptr<std::size_t> connection::share_orphaned_calls() {
  if (!kept_by_calls_) kept_by_calls_ = std::make_shared<std::size_t>(0);
  return std::static_pointer_cast<std::size_t>(kept_by_calls_);
}

namespace {

base::address_bytes bytes_of(const net::address& a) noexcept {
  base::address_bytes b;
  b.port = a.port();
  if (a.kind() == net::address::family::ipv6) b.ip = a.ip_bytes();
  if (a.kind() != net::address::family::ipv4) return b;
  b.ip[10] = b.ip[11] = 0xff;
  std::copy_n(a.ip_bytes().begin(), 4, b.ip.begin() + 12);
  return b;
}

}  // namespace

void connection::start() {
  // First: a start that runs out of memory may close the socket.
  net::address local;
  net::address peer;
  stream_->read_addresses(local, peer);
  stream_->start(*this);
  const base::recorded_connection& recorded = engine_.events();
  recorded.ring().connection_opened(recorded.number(), !acceptor_, bytes_of(local), bytes_of(peer));
  if (acceptor_) report_memory();  // also before the handshake begins
  schedule_flush();
  update_timer();
  if (stream_->established()) handshake_ended();
}

// HTTP/1.1 has no SETTINGS to wait for.
void connection::handshake_ended() noexcept {
  if (!acceptor_ && http1_ && !closing_) owner_.on_ready(*this);
}

exchange connection::open(exchange_handler& handler) noexcept try {
  if (closing_) return {};
  if (http1_) {
    if (!can_open()) return {};
    http1_->open(handler);
    on_stream_begin();
    return exchange(*this, *http1_);
  }
  const stream_ref s = engine_.open(&handler, loop_.now());
  if (s == http2::no_stream) return {};
  on_stream_begin();
  if (--opens_left_ == 0) going_away();  // the ids are exhausted (RFC 9113 5.1.1)
  return exchange(*this, s);
} catch (const std::bad_alloc&) {
  close_at_turn_end("out of memory");
  return {};
}

bool connection::can_open() const noexcept {
  return !closing_ && engine([](const auto& e) { return e.can_open(); });
}

std::size_t connection::open_streams() const noexcept {
  return engine([](const auto& e) { return e.open_streams(); });
}

base::output_buffer& connection::output() noexcept {
  return engine([](auto& e) -> base::output_buffer& { return e.output(); });
}

// --- receiving

void connection::received(bytes_view bytes) noexcept {
  if (closing_ || close_reason_) return;
  last_received_ = loop_.now();
  counters_.bytes_received += bytes.size();
  engine([&](auto& e) { e.feed(bytes, last_received_); });
  {
    const decode_budget::reading now(*budget_);
    dispatch();
  }
  record_received();
  // At once, because a loop iteration may receive much more.
  if (accounting_due_ && !closing_) [[unlikely]] {
    report_memory();
    schedule_flush();
  }
}

void connection::receive_ended(std::int64_t result) noexcept {
  receive_ended_ = true;
  if (closing_) return finish_if_done();
  if (result < 0) set_end_cause(end_cause::io_error, -result);
  base::if_memory_allows([&] {
    if (!end_reason_.empty()) end_reason_.append(", then ");  // the reason of a GOAWAY
    end_reason_.append(result < 0 ? io_failure(result) : "the peer closed the connection");
    // Many servers of TLS close without a word. A failure of the handshake has a reason of its own.
    if (!acceptor_ && counters_.bytes_received == 0 && !auth() && stream_->end_reason().empty())
      end_reason_.append(" without an answer: does it require TLS?");
  });
  engine([&](auto& e) { e.feed_end(loop_.now()); });
  dispatch();
  if (!closing_) broken(end_reason_);
}

// Only of HTTP/1.1, which does not read on while its handler consumes nothing; HTTP/2 does, because its
// windows limit what arrives. Other pauses end by themselves.
void connection::hung_up() noexcept {
  hung_up_ = true;
  schedule_flush();
}

void connection::dispatch() noexcept {
  if (http1_) [[unlikely]] {
    http1_->dispatch();
    if (acceptor_ && http1_->in_headers()) accounting_due_ = true;  // else nothing would trigger it
    return;
  }
  if (dispatching_) return;  // called by a handler: the outer loop continues
  dispatching_ = true;
  for (http2::event e = engine_.next(); e.type != http2::event::kind::none; e = engine_.next()) {
    handle(e);
    if (must_defer()) [[unlikely]]
      defer_input();  // the engine's own events continue
  }
  dispatching_ = false;
  // Handlers that sent something have called schedule_flush() already; this is for the engine's own answers,
  // and for queued data that a window has released.
  if ((!engine_.output().empty() || engine_.has_queued()) && !stream_->sending() && !engine_.awaits_preface())
    schedule_flush();
  if (draining_) finish_if_done();
  update_timer();
}

// --- the decode budget: deferred work, in order

void connection::defer_input() noexcept {
  if (closing_) return;
  const bytes_view rest = engine([](auto& e) { return e.take_unread(); });
  const bool kept = base::if_memory_allows([&] {
    if (!deferred_ && !rest.empty()) deferred_ = std::make_unique<deferred_input>(*this);
    if (!deferred_) return;
    base::output_buffer& unread = deferred_->unread;
    if (std::exchange(deferred_->engine_reads, false)) unread.consume(unread.size() - rest.size());
    else unread.append(rest);
  });
  // HTTP/1.1 would end the exchange in this call, and a function of that exchange may be on the stack.
  if (!kept && http1_) return close_at_turn_end("out of memory");
  if (!kept) return fail(error_code::enhance_your_calm, "out of memory");
  if (!is_deferred()) return;
  accounting_due_ = acceptor_ != nullptr;
  withholds_credit_ = true;
  if (!output_stalled_) budget_->defer(*deferred_);
  update_receiving();
}

void connection::defer(deferred_decode& d) {
  if (!deferred_) deferred_ = std::make_unique<deferred_input>(*this);
  if (!d.linked()) deferred_->calls.push_back(d);
  // Called outside of an event; otherwise dispatch() checks it as soon as the callback returns.
  if (!dispatching_) defer_input();
}

// The calls go first: their messages arrived before the unread input.
bool connection::continue_decoding() noexcept {
  if (output_stalled_) return false;  // flush() defers it again
  while (deferred_decode* const first = deferred_->calls.pop_front()) {
    if (!first->continue_decoding()) continue;
    first->unlink();  // it remains the first, so that few messages are partly decoded at a time
    deferred_->calls.push_front(*first);
    return true;
  }
  if (!deferred_->unread.empty() && !closing_ && !budget_->spent()) {
    deferred_->engine_reads = true;
    engine([&](auto& e) { e.feed(deferred_->unread.pending(), loop_.now()); });
    dispatch();
    if (std::exchange(deferred_->engine_reads, false)) deferred_->unread.clear();
    record_received();
  }
  if (is_deferred()) return !output_stalled_;
  const std::int64_t send_error = deferred_->send_error;
  deferred_.reset();
  withholds_credit_ = memory_pressure_;
  update_receiving();
  if (send_error != 0 && !closing_) send_failed(send_error);
  return false;
}

bool connection::holds_input() const noexcept { return http1_ && http1_->holds_input(); }

void connection::update_receiving() noexcept {
  const bool pause = output_stalled_ || is_deferred() || holds_input() || (http1_ && memory_pressure_);
  if (pause == receive_paused_) {
    if (hung_up_ && !closing_ && !output_stalled_ && holds_input()) schedule_flush();
    return;
  }
  receive_paused_ = pause;
  just_resumed_ = !pause;
  hung_up_ = false;
  if (pause) stream_->pause_receive();
  else stream_->resume_receive();
}

void connection::handle(const http2::event& e) noexcept {
  using kind = http2::event::kind;
  auto* handler = static_cast<exchange_handler*>(e.user);
  switch (e.type) {
    case kind::headers: {
      header_source fields(engine_);
      if (!handler && acceptor_ && !e.trailers) {
        on_stream_begin();
        return call_handler(e.stream,
                            [&] { acceptor_->on_request(exchange(*this, e.stream), fields, e.end_stream); });
      }
      const block_kind k = e.informational ? block_kind::informational
                           : e.trailers    ? block_kind::trailers
                                           : block_kind::headers;
      counters_.streams_succeeded += e.end_stream && !acceptor_;
      if (handler) call_handler(e.stream, [&] { handler->on_headers(fields, k, e.end_stream); });
      return;
    }
    case kind::data:
      if (close_reason_) [[unlikely]]
        return;  // no more received data is processed
      counters_.streams_succeeded += e.end_stream && !acceptor_;
      if (handler) call_handler(e.stream, [&] { handler->on_data(e.data, e.end_stream); });
      return;
    case kind::reset:
      if (handler) {
        // Also if GOAWAY ends this stream alone.
        const bool is_told = e.with_connection || (e.unprocessed && e.code != error_code::refused_stream);
        const std::string_view reason = is_told && !end_reason_.empty() ? end_reason_ : e.reason;
        handler->on_reset({e.code, e.by, e.unprocessed, e.with_connection, reason});
      }
      return;
    case kind::writable:
      if (handler) call_handler(e.stream, [&] { handler->on_writable(); });
      return;
    case kind::settings: return owner_.on_ready(*this);
    case kind::slots: return owner_.on_slots(*this);
    case kind::goaway:
      set_end_cause(end_cause::goaway, static_cast<std::int64_t>(e.code));
      if (e.code == error_code::enhance_your_calm) {
        sent_too_many_pings_ = as_text(e.data) == "too_many_pings";
        asked_for_fewer_resets_ = !sent_too_many_pings_ && engine_.resets_sent() != 0;
      }
      base::if_memory_allows([&] {
        // An error may follow the first GOAWAY of a drain.
        if (e.code != error_code::no_error) end_reason_.clear();
        const std::string debug_data = base::printable(as_text(e.data));
        set_end_reason("GOAWAY ", name_of(e.code), debug_data.empty() ? debug_data : " " + debug_data);
      });
      return going_away();
    case kind::no_preface: return switch_to_http1(e.data);
    case kind::failed:
      // This side fails a connection without an error only if the peer does not answer.
      if (e.code == error_code::no_error && e.by == initiator::library) set_end_cause(end_cause::unanswered);
      set_end_reason(name_of(e.code), ": ", e.reason);
      return broken(end_reason_);
    case kind::none: return;
  }
}

void connection::switch_to_http1(bytes_view rest) noexcept {
  const http1_options* const options = owner_.http1();
  const bool made = options && base::if_memory_allows([&] {
                      http1_ = std::make_unique<http1_session>(*this, http1::role::server, *options);
                    });
  if (!made) return broken("invalid connection preface (RFC 9113 3.4)");
  stream_->watch_hangup();
  engine_.release_idle_memory();  // it is not used again
  if (draining_) http1_->drain();
  http1_->feed(as_bytes(http2::client_preface.substr(0, engine_.preface_bytes())), loop_.now());
  http1_->dispatch();
  if (closing_) return;
  http1_->feed(rest, loop_.now());
  http1_->dispatch();
  accounting_due_ = true;
}

void connection::on_http1_released() noexcept {
  if (age_policy_.watches_idle()) age_policy_.used(loop_.now());
  if (!acceptor_ && can_open()) owner_.on_slots(*this);
  schedule_flush();
}

template <class F>
void connection::call_handler(stream_ref s, F f) noexcept {
  try {
    f();
  } catch (const std::bad_alloc&) {
    out_of_memory(s);
  }
}

// Peers map this code to RESOURCE_EXHAUSTED (PROTOCOL-HTTP2.md, "Errors").
void connection::out_of_memory(stream_ref s) noexcept {
  void* const user = engine_.user_of(s);
  reset(s, error_code::enhance_your_calm);
  if (!user) return release(s);
  abnormal_end end;
  end.code = error_code::enhance_your_calm;
  end.by = initiator::user;
  end.reason = "out of memory";
  static_cast<exchange_handler*>(user)->on_reset(end);
}

void connection::set_end_cause(transport::end_cause c, std::int64_t value) noexcept {
  if (end_cause_ != end_cause::unknown) return;
  end_cause_ = c;
  end_value_ = static_cast<std::uint32_t>(value);
}

void connection::set_end_reason(std::string_view first, std::string_view then,
                                std::string_view last) noexcept {
  if (!end_reason_.empty()) return;
  base::if_memory_allows([&] { end_reason_.append(first).append(then).append(last); });
}

// --- statistics: values computed once per loop iteration cost nothing per message

void connection::on_stream_begin() noexcept {
  constexpr std::uint64_t now_and_then = 16;
  if (++counters_.streams_started % now_and_then == 0) accounting_due_ = acceptor_ != nullptr;
  counters_.last_stream_started = loop_.now();
}

void connection::record_received() noexcept {
  if (std::exchange(counters_.messages_received, messages_.received) != messages_.received)
    counters_.last_message_received = last_received_;
}

void connection::record_sent() noexcept {
  if (std::exchange(counters_.messages_sent, messages_.sent) != messages_.sent)
    counters_.last_message_sent = last_send_;
}

connection_stats connection::stats() noexcept {
  connection_stats f{counters_};
  f.messages_sent = messages_.sent;
  f.messages_received = messages_.received;
  f.streams_open = open_streams();
  f.keepalives_sent = engine_.keepalives_sent();
  f.send_window_bytes = engine_.send_window_bytes();
  f.receive_window_bytes = engine_.receive_window_bytes();
  return f;
}

peer_statements connection::peer_says() const noexcept {
  peer_statements said;
  if (end_cause_ == transport::end_cause::goaway) said.goaway = static_cast<error_code>(end_value_);
  const std::uint32_t streams = engine_.peer_max_concurrent_streams();
  if (streams != http2::unlimited) said.max_concurrent_streams = streams;
  return said;
}

net::connection_details connection::details() const {
  net::connection_details found;
  if (!transport_closed_) stream_->describe(found);
  return found;
}

// --- sending

void connection::schedule_flush() noexcept {
  if (flush_queued_) return;
  flush_queued_ = true;
  loop_.at_turn_end(*this);
}

void connection::flush() noexcept {
  if (transport_closed_) return owner_.on_closed(*this);  // destroys this
  if (close_called_) return;
  // A peer that may speak HTTP/1.1 would take the end of HTTP/2 for a response.
  if (engine_.ended_without_preface() && acceptor_ && !http1_ && owner_.http1()) [[unlikely]]
    engine_.output().clear();
  if (!send_broken_ && !stream_->sending() && !engine_.awaits_preface()) {
    // At least one frame, regardless of the amount of small responses.
    if (!closing_ && !http1_) engine_.produce(std::max(bulk_high_bytes, engine_.output().size() + 1));
    base::output_buffer& out = output();
    if (!out.empty()) {
      in_flight_.swap(out);
      engine_.output_taken();
      last_send_ = loop_.now();
      counters_.bytes_sent += in_flight_.size();
      record_sent();
      if (release_at_ == never) release_at_ = deadline_after(last_send_, idle_time);
      if (acceptor_) stall_.watch(last_send_);
      if (in_flight_.size() >= large_message_bytes) accounting_due_ = acceptor_ != nullptr;
      if (!stream_->send(in_flight_.pending())) send_broken_ = true;
    }
    // produce() may have resumed a waiting writer; what it sends is for the next round.
    if (!closing_) dispatch();
  }
  // A connection for which close_at_turn_end() was called is closed here, even if its memory has fallen
  // meanwhile.
  if ((accounting_due_ || close_reason_) && !closing_) [[unlikely]] {
    resume_waiting_calls();
    report_memory();
    if (close_reason_) return close(error_code::enhance_your_calm, close_reason_);
  }
  // Not for clients: two clients' reads that wait for each other would deadlock. Not after a failed send: its
  // remaining output waits for nothing.
  output_stalled_ = acceptor_ && !send_broken_ && output_is_full();
  if (deferred_ || output_stalled_ != receive_paused_) [[unlikely]] {
    if (deferred_ && !output_stalled_ && !closing_) budget_->defer(*deferred_);
    update_receiving();
    if (hung_up_ && !closing_ && holds_input()) broken("the peer closed the connection");
  }
  finish_if_done();
}

void connection::sent(std::int64_t result) noexcept {
  in_flight_.clear();
  if (result < 0) {
    send_broken_ = true;
    if (!closing_ && is_deferred()) {
      deferred_->send_error = result;
    } else if (!closing_) {
      return send_failed(result);
    }
  }
  schedule_flush();
}

// --- for exchange

void connection::reset(stream_ref s, error_code code) noexcept {
  engine_.reset(s, code);
  schedule_flush();
}

void connection::release(stream_ref s) noexcept {
  engine_.release(s);
  on_released(s);
}

void connection::on_released(stream_ref s) noexcept {
  if (!waiting_.empty()) [[unlikely]]
    std::erase(waiting_, s);
  if (age_policy_.watches_idle()) age_policy_.used(loop_.now());
  schedule_flush();
}

// --- memory, congestion, stalls

namespace {

// Connections that hold more are accounted in every loop iteration.
constexpr std::size_t light_bytes = 64u << 10;
// The minimum change that is reported to the owner.
constexpr std::size_t memory_step_bytes = 4096;
constexpr std::size_t http1_unit_bytes = 1024;
// In addition to what the engine counts: for the connection, and for each open exchange (the call, its
// coroutine).
constexpr std::size_t connection_cost_bytes = 1024;
constexpr std::size_t exchange_cost_bytes = 2048;

}  // namespace

void connection::update_congestion() noexcept {
  congested_ = acceptor_ && engine_.unread_bytes() > unread_bytes_max_;
  if (congested_) stall_.watch(loop_.now());
}

// Resumes waiting exchanges one by one, while there is room for their responses.
void connection::resume_waiting_calls() noexcept {
  update_congestion();
  while (!waiting_.empty() && !congested_ && !close_reason_) {
    const stream_ref next = waiting_.front();
    waiting_.erase(waiting_.begin());  // first: an exchange that ends inside is removed from the list
    if (void* const user = engine_.user_of(next)) {
      try {
        static_cast<exchange_handler*>(user)->on_uncongested();
      } catch (const std::bad_alloc&) {
        out_of_memory(next);
      }
    }
    update_congestion();
  }
}

void connection::report_memory() noexcept {
  // A connection of HTTP/1.1 has the engine of HTTP/2 as well.
  const std::size_t now = connection_cost_bytes + engine_.memory_bytes() + in_flight_.capacity() +
                          (http1_ ? http1_->memory_bytes() : 0) +
                          (deferred_ ? deferred_->unread.capacity() : 0) + stream_->memory_bytes() +
                          (header_cache_ ? header_cache_->memory_bytes : 0) +
                          open_streams() * exchange_cost_bytes;
  accounting_due_ = now > light_bytes || congested_ || !waiting_.empty();
  const std::size_t more_min = http1_ ? 1 : memory_step_bytes;
  if (now < reported_memory_bytes_ + more_min && now + memory_step_bytes > reported_memory_bytes_) return;
  // A connection of HTTP/1.1 has one call, and thousands of them may each stay below the step: what they
  // report is never less than what they hold. It is rounded up, so that not every growth is reported.
  reported_memory_bytes_ = http1_ ? (now + http1_unit_bytes - 1) / http1_unit_bytes * http1_unit_bytes : now;
  owner_.on_memory(*this, reported_memory_bytes_);
}

// While receiving is paused, nothing else would trigger the accounting.
void connection::memory_changed() noexcept {
  if (!acceptor_ || closing_) return;
  accounting_due_ = true;
  schedule_flush();
}

void connection::check_stall() noexcept {
  if (!acceptor_) return;
  const time_point sending_since = stream_->sending() ? last_send_ : never;
  // A window update of the peer may be in the input that waits for the decode budget.
  const bool peer_is_active = !is_deferred() && !just_resumed_;
  if (!stall_.on_time(loop_.now(), congested_, engine_.data_sent(), sending_since, peer_is_active)) return;
  fail(error_code::enhance_your_calm, "the peer does not read the replies within the stall time");
}

void connection::close_at_turn_end(const char* reason) noexcept {
  if (close_reason_) return;
  close_reason_ = reason;
  accounting_due_ = true;
  schedule_flush();
}

void connection::set_memory_pressure(bool on) noexcept {
  memory_pressure_ = on;
  withholds_credit_ = on || is_deferred();
  engine_.withhold_credit(on);
  engine([on](auto& e) { e.refuse_streams(on); });
  if (http1_) update_receiving();
  schedule_flush();
}

void connection::set_kept(stream_ref s, std::size_t bytes) noexcept {
  engine_.set_kept(s, bytes);
  note_kept(bytes);
}

void connection::note_kept(std::size_t bytes) noexcept {
  if (!acceptor_) return;
  accounting_due_ = true;
  // At once, because one read may contain several hundred messages.
  if (bytes == 0 || bytes >= large_message_bytes) report_memory();
}

void connection::wait_until_uncongested(stream_ref s) noexcept {
  if (!base::if_memory_allows([&] { waiting_.push_back(s); })) return close_at_turn_end("out of memory");
  accounting_due_ = true;
}

// --- drain and close

namespace {

// How long a closing connection waits for its peer to read the rest. If a socket is closed before the peer
// has closed its side, too, the kernel drops what the peer has not read yet (RFC 9112 9.6).
constexpr duration linger = std::chrono::seconds(2);

}  // namespace

void connection::drain() noexcept {
  if (closing_ || draining_) return;
  draining_ = true;
  set_end_cause(end_cause::closed);
  engine([](auto& e) { e.drain(); });
  schedule_flush();
  update_timer();  // a flush that waits for the preface does not update it
}

void connection::close(http2::error_code code, std::string_view reason) noexcept {
  if (closing_) return;
  set_end_cause(end_cause::closed);
  set_end_reason(reason);
  fail(code, reason);
  if (!closing_) dispatch();
}

void connection::fail(error_code code, std::string_view reason) noexcept {
  if (http1_) return broken(reason);
  engine_.fail(code, reason);
  schedule_flush();  // for its events
}

void connection::going_away() noexcept {
  if (!std::exchange(reported_going_away_, true)) owner_.on_going_away(*this);
  draining_ = true;
}

void connection::send_failed(std::int64_t error) noexcept {
  set_end_cause(end_cause::io_error, -error);
  base::if_memory_allows([&] { set_end_reason(io_failure(error)); });
  broken("sending failed");
}

std::string connection::io_failure(std::int64_t error) const {
  const std::string_view io_reason = stream_->end_reason();
  return io_reason.empty() ? std::strerror(static_cast<int>(-error)) : std::string(io_reason);
}

// The engine or the byte stream has failed: only pending output remains to be sent.
void connection::broken(std::string_view reason) noexcept {
  if (closing_) return;
  set_end_reason(reason);
  if (!engine_.failed()) {
    engine_.feed_end(loop_.now());
    for (http2::event e = engine_.next(); e.type != http2::event::kind::none; e = engine_.next()) {
      if (e.type != http2::event::kind::failed) handle(e);
    }
  }
  closing_ = true;
  if (http1_) {
    abnormal_end lost;
    lost.code = error_code::cancel;
    lost.disconnected = true;
    lost.reason = end_reason_;
    http1_->end(lost);
  }
  if (deferred_) {
    deferred_->unread.clear();
    deferred_->unlink();
  }
  going_away();
  if (timer::holder) loop_.disarm(*this);
  loop_.arm(*this, deadline_after(loop_.now(), linger));
  if (acceptor_) report_memory();
  schedule_flush();
}

void connection::finish_if_done() noexcept {
  if (close_called_) return;
  if (draining_ && !closing_ && open_streams() == 0 && !unsent() && !engine_.draining()) {
    broken("drained");
    return;
  }
  if (!closing_) return;
  if (!send_broken_) {
    if (unsent()) return;
    stream_->shutdown_send();
    // The last output of a client is not important, but the responses of a server are, until they are read.
    if (acceptor_ && !receive_ended_ && !engine_.all_read()) return;
  }
  close_called_ = true;
  stream_->close(send_broken_);
}

void connection::closed() noexcept {
  if (timer::holder) loop_.disarm(*this);
  if (!closing_) broken("closed");
  engine_.events().ring().connection_closed(
      engine_.events().number(), static_cast<std::uint32_t>(counters_.streams_started), end_reason_);
  transport_closed_ = true;  // notify the owner at the end of the iteration, after a queued flush()
  schedule_flush();
}

void connection::update_timer() noexcept {
  if (closing_) return;
  const time_point of_engine = engine([](const auto& e) { return e.next_timeout(); });
  const time_point t =
      std::min(std::min(of_engine, release_at_), std::min(age_policy_.next(), stall_.next()));
  if (timer::holder && timer::when == t) return;
  if (timer::holder) loop_.disarm(*this);
  if (t != never) loop_.arm(*this, t);
}

}  // namespace coracle::transport
