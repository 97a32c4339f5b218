#include "client/call/retry_controller.hpp"

#include "base/if_memory_allows.hpp"
#include "client/call/client_call.hpp"
#include "client/call/client_headers.hpp"
#include "client/call/retry_instruments.hpp"
#include "coracle/runtime/loop.hpp"
#include "rpc/message_format.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace coracle::client {

retry_controller::retry_controller(client_call& call, const call_terms& terms, retry_state plan,
                                   call_channel& source, call_watch* watch) noexcept
    : call_(call), terms_(terms), plan_(std::move(plan)), source_(source), watch_(watch) {
  timer::fire = [](coro::timer& t) noexcept { static_cast<retry_controller&>(t).timer_fired(); };
}

retry_controller::~retry_controller() { disarm(); }

void retry_controller::begin() noexcept {
  call_.record_to(*this);
  if (call_ended_) return;  // its request could not be encoded
  start_attempt(attempt_kind::first);
}

// --- attempts

void retry_controller::start_attempt(attempt_kind kind) noexcept {
  const bool made = base::if_memory_allows([this] {
    attempts_.reserve(attempts_.size() + 1);
    attempts_.push_back(std::make_unique<replayed_attempt>(*this, sent_, terms_, plan_.begin()));
  });
  if (!made) {
    if (attempts_in_flight() > 0) return;
    last_end_ = {};
    last_end_.outcome = rpc::out_of_memory();
    return call_.attempts_failed(last_end_);
  }
  replayed_attempt& a = *attempts_.back();
  if (std::exchange(next_is_chosen_, false)) chosen_ = &a;
  else if (const auto distance = plan_.next_hedge()) arm_in(*distance);
  a.begin(source_, watch_attempt(watch_, kind, a.previous_attempts()));
}

void retry_controller::timer_fired() noexcept {
  if (plan_.attempt_allowed())
    return start_attempt(plan_.hedges() ? attempt_kind::hedge : attempt_kind::retry);
  if (plan_.take_throttled()) measure_throttled();
  if (attempts_in_flight() == 0) call_.attempts_failed(last_end_);
}

void retry_controller::attached(replayed_attempt& a) noexcept {
  if (&a == chosen_) {
    transfer_exchange(a);
    return;
  }
  if (wants_writable_) a.want_writable(low_bytes_);  // was requested before the attempt had a stream
  on_room();
}

void retry_controller::on_room() noexcept {
  if (!wants_writable_) return;
  if (unsent() > low_bytes_) {  // more was sent meanwhile, and a request is good for one call
    for (const auto& a : attempts_) a->want_writable(low_bytes_);
    return;
  }
  wants_writable_ = false;
  call_.on_writable();
}

void retry_controller::succeeded(replayed_attempt& a, protocol::grpc::response_headers& headers,
                                 bool end_stream) noexcept {
  if (commit_to(a)) call_.take_first_headers(headers, end_stream);
}

void retry_controller::out_of_memory(replayed_attempt& a) noexcept {
  const status reason = rpc::out_of_memory();
  if (attempts_in_flight() > 1) return a.cancel(reason);
  attempt_result e;
  e.outcome = reason;
  e.final = true;
  ended(a, std::move(e));
}

void retry_controller::ended(replayed_attempt& a, attempt_result e) noexcept {
  a.cancel(e.outcome);
  const bool decided = chosen_ || next_is_chosen_;
  next_step then;  // if decided, this was the last attempt
  if (decided && !e.displaced) plan_.committed_ended(e.outcome.code());
  if (!decided) then = plan_.failed(e, attempts_in_flight(), terms_.owner_loop->io().random());
  if (plan_.take_throttled()) measure_throttled();
  last_end_ = std::move(e);
  switch (then.next) {
    case next_step::action::wait: return disarm();
    case next_step::action::fail: cancel_all_but(nullptr); return call_.attempts_failed(last_end_);
    case next_step::action::retry:
      if (watch_ && !plan_.hedges()) watch_->paused(then.pause);
      return arm_in(then.pause);
  }
}

bool retry_controller::retry_transparently(replayed_attempt& a, const status& reason) noexcept {
  if (std::exchange(retried_transparently_, true)) return false;
  a.cancel(reason);
  a.begin(source_, watch_attempt(watch_, attempt_kind::transparent_retry, a.previous_attempts()));
  return true;
}

void retry_controller::count_attempt(status_code code) noexcept { call_.count_attempt(code); }

unsigned retry_controller::attempts_in_flight() const noexcept {
  return static_cast<unsigned>(
      std::count_if(attempts_.begin(), attempts_.end(), [](const auto& a) { return a->in_flight(); }));
}

replayed_attempt* retry_controller::furthest() const noexcept {
  replayed_attempt* best = nullptr;
  for (const auto& a : attempts_) {
    if (!a->in_flight()) continue;
    if (!best || (a->attached() && (!best->attached() || a->unsent() < best->unsent()))) best = a.get();
  }
  return best;
}

void retry_controller::arm_in(duration d) noexcept {
  disarm();
  terms_.owner_loop->arm(*this, deadline_after(terms_.owner_loop->now(), d));
}

void retry_controller::disarm() noexcept {
  if (timer::holder) terms_.owner_loop->disarm(*this);
}

// --- commitment

bool retry_controller::commit_to(replayed_attempt& a) noexcept {
  chosen_ = &a;
  if (plan_.hedges() && a.previous_attempts() > 0) measure_hedge_won();
  disarm();
  cancel_all_but(&a);
  return !a.attached() || transferred_ || transfer_exchange(a);
}

// From here the call uses the exchange itself.
bool retry_controller::transfer_exchange(replayed_attempt& a) noexcept {
  if (!base::if_memory_allows([&] { a.send_rest(); })) {
    out_of_memory(a);
    return false;
  }
  transferred_ = true;
  transport::exchange x = a.release_exchange();
  sent_.clear();
  if (wants_writable_) x.want_writable(low_bytes_);
  call_.adopt(x, a.target(), a.release_watch());
  return true;
}

void retry_controller::cancel_all_but(const replayed_attempt* kept) noexcept {
  for (const auto& a : attempts_)
    if (a.get() != kept) a->cancel(status::cancelled("another attempt was faster"));
}

void retry_controller::call_ended(const status& outcome) noexcept {
  call_ended_ = true;
  if (transferred_) return plan_.committed_ended(outcome.code());
  disarm();
  for (const auto& a : attempts_) {
    if (a->attached() && outcome.code() == status_code::deadline_exceeded) count_attempt(outcome.code());
    a->report_end(outcome.code(), {});
    a->cancel(status::cancelled("the call has ended"));
  }
  sent_.clear();
}

// --- the record

void retry_controller::record(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, message_size m,
                              bool end_stream) {
  sent_.add({std::move(bytes), n, m, end_stream});
  for (const auto& a : attempts_) a->pump();
  if (!sent_.full() || chosen_ || next_is_chosen_) return;
  if (replayed_attempt* a = furthest()) commit_to(*a);
  else next_is_chosen_ = true;
}

// The writer continues as fast as the fastest attempt.
std::size_t retry_controller::unsent() const noexcept {
  std::size_t min_unsent = sent_.bytes();
  for (const auto& a : attempts_)
    if (a->attached()) min_unsent = std::min(min_unsent, a->unsent());
  return min_unsent;
}

void retry_controller::want_room(std::size_t low_bytes) noexcept {
  wants_writable_ = true;
  low_bytes_ = low_bytes;
  for (const auto& a : attempts_) a->want_writable(low_bytes);
}

namespace {

// How much a stream is given beyond its window. The rest stays in the buffer, which all attempts share.
constexpr std::size_t ahead_high_bytes = 64u << 10;
constexpr std::size_t ahead_low_bytes = 32u << 10;

}  // namespace

void replayed_attempt::begin(call_channel& from, std::unique_ptr<attempt_watch> watch) noexcept {
  next_piece_ = taken_bytes_ = 0;
  watch_ = std::move(watch);
  in_flight_ = true;
  from.begin(*this);
}

void replayed_attempt::report_end(status_code code, const metadata& trailing) noexcept {
  if (!exchange_) return;
  if (target_->ends) target_->ends->attempt_ended(code, trailing);
  exchange_.release();
}

void replayed_attempt::abandon() noexcept {
  if (!exchange_) return;
  if (target_->ends) target_->ends->attempt_abandoned();
  exchange_.release();
}

void replayed_attempt::cancel(const status& reason) noexcept {
  in_flight_ = false;
  leave_queue();
  abandon();
  end_watch(watch_, reason);
}

bool replayed_attempt::has_siblings() const noexcept { return set_.attempts_in_flight() > 1; }

// --- sending

void replayed_attempt::attach(transport::exchange x, const call_target& target) noexcept {
  const bool waited = leave_queue();
  exchange_ = x;
  target_ = &target;
  status refused;
  const bool tried = base::if_memory_allows([&] {
    refused = send_client_headers(exchange_, target, terms(), previous_, watch_ ? watch_->more() : nullptr);
  });
  if (!tried || !refused.ok()) {
    abandon();
    return tried ? fail(refused, refusal::final) : set_.out_of_memory(*this);
  }
  if (watch_) watch_->attached(exchange_, waited, target.labels);
  if (pump()) set_.attached(*this);
}

bool replayed_attempt::pump() noexcept {
  if (!exchange_) return true;
  while (next_piece_ < sent_.pieces()) {
    if (exchange_.queued() > ahead_high_bytes) {
      exchange_.want_writable(ahead_low_bytes);
      break;
    }
    if (base::if_memory_allows([this] { send(sent_.at(next_piece_)); })) continue;
    abandon();
    set_.out_of_memory(*this);
    return false;
  }
  return true;
}

// Counts each piece that is sent; the last one may consist of the end alone.
void replayed_attempt::count(const replay_buffer::piece& p) noexcept {
  if (p.size == 0) return;
  exchange_.count_sent();
  if (!terms().unary || p.message.bytes != p.message.wire_bytes)
    exchange_.events().ring().message(true, exchange_.events().number(), exchange_.recorded_stream(),
                                      p.message.bytes != p.message.wire_bytes, p.message.wire_bytes);
  if (watch_) watch_->message_sent(p.message);
}

void replayed_attempt::send(const replay_buffer::piece& p) {
  std::uint8_t* const on_room = exchange_.reserve_data(p.size);
  std::unique_ptr<std::uint8_t[]> copy;
  if (!on_room && p.size > 0) copy.reset(new std::uint8_t[p.size]);
  if (p.size > 0) std::memcpy(on_room ? on_room : copy.get(), p.bytes.get(), p.size);
  count(p);
  ++next_piece_;
  taken_bytes_ += p.size;
  if (on_room) return exchange_.commit_data(p.size, p.end_stream);
  exchange_.queue_data(std::move(copy), p.size, p.end_stream);
}

std::size_t replayed_attempt::unsent() const noexcept {
  return sent_.bytes() - taken_bytes_ + (exchange_ ? exchange_.queued() : 0);
}

void replayed_attempt::want_writable(std::size_t low_bytes) noexcept {
  if (exchange_) exchange_.want_writable(low_bytes);
}

void replayed_attempt::on_writable() noexcept {
  if (pump()) set_.on_room();
}

void replayed_attempt::send_rest() {
  for (; next_piece_ < sent_.pieces(); ++next_piece_) {
    replay_buffer::piece& p = sent_.at(next_piece_);
    count(p);
    exchange_.queue_data(std::move(p.bytes), p.size, p.end_stream);
  }
}

transport::exchange replayed_attempt::release_exchange() noexcept {
  in_flight_ = false;
  return std::exchange(exchange_, {});
}

// --- results

void replayed_attempt::fail(const status& reason, refusal refused) noexcept {
  release_places();
  attempt_result e;
  e.outcome = reason;
  e.final = refused == refusal::final;
  e.displaced = refused == refusal::displaced;
  set_.ended(*this, std::move(e));
}

void replayed_attempt::on_headers(transport::header_source& fields, transport::block_kind kind,
                                  bool end_stream) {
  if (kind == transport::block_kind::informational) return;
  protocol::grpc::response_headers headers;
  if (!headers.read(fields)) return;  // on_reset() follows
  const bool not_grpc = headers.http_status != 200 || !headers.grpc_content;
  if (end_stream ? headers.has_status && headers.code == status_code::ok : !not_grpc)
    return set_.succeeded(*this, headers, end_stream);
  attempt_result e;
  e.outcome =
      end_stream ? status_of_trailers(headers, headers.http_status) : status_of_non_grpc_response(headers);
  e.trailing = metadata(std::move(headers.metadata));
  e.pushback = headers.pushback;
  e.retry_after = headers.retry_after;
  set_.count_attempt(e.outcome.code());
  report_end(e.outcome.code(), e.trailing);
  set_.ended(*this, std::move(e));
}

// No data arrives before the response headers, and after them this is no longer the handler.
void replayed_attempt::on_data(bytes_view bytes, bool) noexcept { exchange_.consume(bytes.size()); }

void replayed_attempt::on_reset(const transport::abnormal_end& e) noexcept {
  if (e.unprocessed && set_.retry_transparently(*this, status_of_reset(e))) return;
  attempt_result end;
  end.outcome = status_of_reset(e);
  set_.count_attempt(end.outcome.code());
  report_end(end.outcome.code(), end.trailing);
  end.final = exceeded_header_limit(e);
  set_.ended(*this, std::move(end));
}

}  // namespace coracle::client
