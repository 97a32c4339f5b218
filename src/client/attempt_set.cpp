#include "client/attempt_set.hpp"

#include "client/client_call.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <utility>

namespace coracle::client {

attempt_set::attempt_set(client_call& call, const call_terms& terms, attempt_plan plan,
                         std::shared_ptr<attempt_source> source, call_watch* watch) noexcept
    : call_(call), terms_(terms), plan_(std::move(plan)), source_(std::move(source)), watch_(watch) {
  timer::fire = [](coro::timer& t) noexcept { static_cast<attempt_set&>(t).timer_fired(); };
}

attempt_set::~attempt_set() { disarm(); }

void attempt_set::begin() noexcept {
  call_.record_to(*this);
  if (call_ended_) return;  // what it had to send could not be written
  start_attempt(attempt_kind::first);
}

// --- attempts

void attempt_set::start_attempt(attempt_kind kind) noexcept {
  attempts_.push_back(std::make_unique<replayed_attempt>(*this, sent_, terms_, plan_.begin()));
  replayed_attempt& a = *attempts_.back();
  if (std::exchange(next_is_chosen_, false)) chosen_ = &a;
  else if (const auto distance = plan_.next_hedge()) arm_in(*distance);
  a.begin(*source_, watch_attempt(watch_, kind, a.previous_attempts()));
}

void attempt_set::timer_fired() noexcept {
  if (!plan_.hedges()) return start_attempt(attempt_kind::retry);
  if (plan_.hedge_allowed()) return start_attempt(attempt_kind::hedge);
  if (on_their_way() == 0) call_.attempts_failed(last_end_);
}

void attempt_set::attached(replayed_attempt& a) noexcept {
  if (&a == chosen_) return hand_over(a);
  if (wants_writable_) a.want_writable(low_bytes_);  // said before it had a stream
  room();
}

void attempt_set::room() noexcept {
  if (!wants_writable_) return;
  if (unsent() > low_bytes_) {  // more was sent meanwhile, and a wish holds once
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
  next_step then;  // decided: this was the last one
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
  a.begin(*source_, watch_attempt(watch_, attempt_kind::transparent_retry, a.previous_attempts()));
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

// The call goes on by itself.
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

// The writer goes on as fast as the fastest attempt.
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

}  // namespace coracle::client
