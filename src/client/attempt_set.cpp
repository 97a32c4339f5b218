#include "client/attempt_set.hpp"

#include "client/client_call.hpp"
#include "client/client_head.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace coracle::client {

attempt_set::attempt_set(client_call& call, const call_terms& terms, attempt_plan plan, call_channel& source,
                         call_watch* watch) noexcept
    : call_(call), terms_(terms), plan_(std::move(plan)), source_(source), watch_(watch) {
  timer::fire = [](coro::timer& t) noexcept { static_cast<attempt_set&>(t).timer_fired(); };
}

attempt_set::~attempt_set() { disarm(); }

void attempt_set::begin() noexcept {
  call_.record_to(*this);
  if (call_ended_) return;  // its request could not be encoded
  start_attempt(attempt_kind::first);
}

// --- attempts

void attempt_set::start_attempt(attempt_kind kind) noexcept {
  attempts_.push_back(std::make_unique<replayed_attempt>(*this, sent_, terms_, plan_.begin()));
  replayed_attempt& a = *attempts_.back();
  if (std::exchange(next_is_chosen_, false)) chosen_ = &a;
  else if (const auto distance = plan_.next_hedge()) arm_in(*distance);
  a.begin(source_, watch_attempt(watch_, kind, a.previous_attempts()));
}

void attempt_set::timer_fired() noexcept {
  if (!plan_.hedges()) return start_attempt(attempt_kind::retry);
  if (plan_.hedge_allowed()) return start_attempt(attempt_kind::hedge);
  if (on_their_way() == 0) call_.attempts_failed(last_end_);
}

void attempt_set::attached(replayed_attempt& a) noexcept {
  if (&a == chosen_) return hand_over(a);
  if (wants_writable_) a.want_writable(low_bytes_);  // was requested before the attempt had a stream
  room();
}

void attempt_set::room() noexcept {
  if (!wants_writable_) return;
  if (unsent() > low_bytes_) {  // more was sent meanwhile, and a request is good for one call
    for (const auto& a : attempts_) a->want_writable(low_bytes_);
    return;
  }
  wants_writable_ = false;
  call_.on_writable();
}

void attempt_set::succeeded(replayed_attempt& a, protocol::grpc::response_headers& head,
                            bool end_stream) noexcept {
  commit_to(a);
  call_.take_first_head(head, end_stream);
}

void attempt_set::ended(replayed_attempt& a, attempt_end e) noexcept {
  a.cancel(e.how);
  const bool decided = chosen_ || next_is_chosen_;
  next_step then;  // if decided, this was the last attempt
  if (decided) plan_.committed_ended(e.how.code());
  else then = plan_.failed(e, on_their_way(), terms_.home->io().random());
  last_end_ = std::move(e);
  switch (then.to_do) {
    case next_step::what::wait: return disarm();
    case next_step::what::give_up: cancel_all_but(nullptr); return call_.attempts_failed(last_end_);
    case next_step::what::again:
      if (watch_ && !plan_.hedges()) watch_->paused(then.pause);
      return arm_in(then.pause);
  }
}

bool attempt_set::try_again(replayed_attempt& a, const status& why) noexcept {
  if (std::exchange(tried_again_, true)) return false;
  a.cancel(why);
  a.begin(source_, watch_attempt(watch_, attempt_kind::transparent_retry, a.previous_attempts()));
  return true;
}

unsigned attempt_set::on_their_way() const noexcept {
  return static_cast<unsigned>(
      std::count_if(attempts_.begin(), attempts_.end(), [](const auto& a) { return a->on_its_way(); }));
}

replayed_attempt* attempt_set::furthest() const noexcept {
  replayed_attempt* best = nullptr;
  for (const auto& a : attempts_) {
    if (!a->on_its_way()) continue;
    if (!best || (a->attached() && (!best->attached() || a->unsent() < best->unsent()))) best = a.get();
  }
  return best;
}

void attempt_set::arm_in(duration d) noexcept {
  disarm();
  terms_.home->arm(*this, deadline_after(terms_.home->now(), d));
}

void attempt_set::disarm() noexcept {
  if (timer::holder) terms_.home->disarm(*this);
}

// --- commitment

void attempt_set::commit_to(replayed_attempt& a) noexcept {
  chosen_ = &a;
  disarm();
  cancel_all_but(&a);
  if (a.attached() && !handed_over_) hand_over(a);
}

// From here the call uses the exchange itself.
void attempt_set::hand_over(replayed_attempt& a) noexcept {
  handed_over_ = true;
  transport::exchange x = a.hand_over();
  sent_.clear();
  if (wants_writable_) x.want_writable(low_bytes_);
  call_.adopt(x, a.give_watch());
}

void attempt_set::cancel_all_but(const replayed_attempt* kept) noexcept {
  for (const auto& a : attempts_)
    if (a.get() != kept) a->cancel(status::cancelled("another attempt was faster"));
}

void attempt_set::call_ended(const status& how) noexcept {
  call_ended_ = true;
  if (handed_over_) return plan_.committed_ended(how.code());
  disarm();
  for (const auto& a : attempts_) a->cancel(status::cancelled("the call has ended"));
  sent_.clear();
}

// --- the record

void attempt_set::record(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, message_size m,
                         bool end_stream) {
  sent_.add({std::move(bytes), n, m, end_stream});
  for (const auto& a : attempts_) a->pump();
  if (!sent_.full() || chosen_ || next_is_chosen_) return;
  if (replayed_attempt* a = furthest()) commit_to(*a);
  else next_is_chosen_ = true;
}

// The writer continues as fast as the fastest attempt.
std::size_t attempt_set::unsent() const noexcept {
  std::size_t least = sent_.bytes();
  for (const auto& a : attempts_)
    if (a->attached()) least = std::min(least, a->unsent());
  return least;
}

void attempt_set::want_room(std::size_t low_bytes) noexcept {
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
  on_its_way_ = true;
  from.begin(*this);
}

void replayed_attempt::cancel(const status& why) noexcept {
  on_its_way_ = false;
  list_hook::unlink();
  if (exchange_) exchange_.release();
  end_watch(watch_, why);
}

// --- sending

void replayed_attempt::attach(transport::exchange x, const call_target& target) noexcept {
  list_hook::unlink();
  exchange_ = x;
  send_client_head(exchange_, target, terms(), previous_, watch_ ? &watch_->more() : nullptr);
  if (watch_) watch_->attached(exchange_);
  pump();
  set_.attached(*this);
}

void replayed_attempt::pump() noexcept {
  if (!exchange_) return;
  while (next_piece_ < sent_.pieces()) {
    if (exchange_.queued() > ahead_high_bytes) return exchange_.want_writable(ahead_low_bytes);
    send(sent_.at(next_piece_));
  }
}

// Counts each piece that is sent; the last one may consist of the end alone.
void replayed_attempt::count(const replay_buffer::piece& p) noexcept {
  if (p.size == 0) return;
  exchange_.count_sent();
  if (watch_) watch_->message_sent(p.message);
}

void replayed_attempt::send(const replay_buffer::piece& p) noexcept {
  count(p);
  ++next_piece_;
  taken_bytes_ += p.size;
  if (std::uint8_t* room = exchange_.reserve_data(p.size)) {
    if (p.size > 0) std::memcpy(room, p.bytes.get(), p.size);
    return exchange_.commit_data(p.size, p.end_stream);
  }
  std::unique_ptr<std::uint8_t[]> copy;
  if (p.size > 0) {
    copy.reset(new std::uint8_t[p.size]);
    std::memcpy(copy.get(), p.bytes.get(), p.size);
  }
  exchange_.queue_data(std::move(copy), p.size, p.end_stream);
}

std::size_t replayed_attempt::unsent() const noexcept {
  return sent_.bytes() - taken_bytes_ + (exchange_ ? exchange_.queued() : 0);
}

void replayed_attempt::want_writable(std::size_t low_bytes) noexcept {
  if (exchange_) exchange_.want_writable(low_bytes);
}

void replayed_attempt::on_writable() noexcept {
  pump();
  set_.room();
}

transport::exchange replayed_attempt::hand_over() noexcept {
  on_its_way_ = false;
  for (; next_piece_ < sent_.pieces(); ++next_piece_) {
    replay_buffer::piece& p = sent_.at(next_piece_);
    count(p);
    exchange_.queue_data(std::move(p.bytes), p.size, p.end_stream);
  }
  return std::exchange(exchange_, {});
}

// --- results

void replayed_attempt::fail(const status& why, refusal how) noexcept {
  attempt_end e;
  e.how = why;
  e.final = how == refusal::final;
  set_.ended(*this, std::move(e));
}

void replayed_attempt::on_headers(transport::header_source& fields, transport::block_kind kind,
                                  bool end_stream) noexcept {
  if (kind == transport::block_kind::informational) return;
  protocol::grpc::response_headers head;
  if (!head.read(fields)) return;  // on_reset() follows
  const bool foreign = head.http_status != 200 || !head.grpc_content;
  if (end_stream ? head.has_status && head.code == status_code::ok : !foreign)
    return set_.succeeded(*this, head, end_stream);
  attempt_end e;
  e.how = end_stream ? end_by_trailers(head, head.http_status) : end_by_foreign_head(head);
  e.trailing = metadata(std::move(head.metadata));
  e.pushback = head.pushback;
  e.retry_after = head.retry_after;
  exchange_.release();
  set_.ended(*this, std::move(e));
}

// No data arrives before the response headers, and after them this is no longer the handler.
void replayed_attempt::on_data(bytes_view bytes, bool) noexcept { exchange_.consume(bytes.size()); }

void replayed_attempt::on_reset(const transport::abnormal_end& e) noexcept {
  exchange_.release();
  if (e.unprocessed && set_.try_again(*this, end_by_reset(e))) return;
  attempt_end end;
  end.how = end_by_reset(e);
  set_.ended(*this, std::move(end));
}

}  // namespace coracle::client
