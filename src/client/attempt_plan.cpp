#include "client/attempt_plan.hpp"

#include <algorithm>
#include <cmath>

namespace coracle::client {

std::optional<duration> attempt_plan::next_hedge() const noexcept {
  if (!hedging_ || no_more_ || made_ >= hedging_->max_attempts) return std::nullopt;
  return hedging_->delay;
}

bool attempt_plan::hedge_allowed() noexcept {
  if (throttle_ && !throttle_->allows()) no_more_ = true;
  return !no_more_;
}

next_step attempt_plan::failed(const attempt_end& e, unsigned on_their_way, std::uint64_t random) noexcept {
  if (e.final) return {};
  return retry_ ? retry_after(e, random) : hedge_after(e, on_their_way);
}

next_step attempt_plan::retry_after(const attempt_end& e, std::uint64_t random) noexcept {
  if (e.told_to_stop()) {
    count_failure();
    return {};
  }
  if (!repeatable().contains(e.how.code())) return {};
  // The failure counts even if no attempt is left.
  if (!count_failure() || made_ >= retry_->max_attempts) return {};
  if (!e.retry_after) return {next_step::what::again, backoff(random)};
  pauses_ = 0;  // the backoff starts again after a pushback
  return {next_step::what::again, *e.retry_after};
}

// random(0.8, 1.2) * min(initialBackoff * multiplier^n, maxBackoff)
duration attempt_plan::backoff(std::uint64_t random) noexcept {
  const double grown = static_cast<double>(retry_->initial_backoff.count()) *
                       std::pow(retry_->backoff_multiplier, static_cast<double>(pauses_++));
  const double most = static_cast<double>(retry_->max_backoff.count());
  const double spread = 0.8 + 0.4 * (static_cast<double>(random % 1'000'001) / 1'000'000.0);
  const double pause = std::min(most, grown) * spread;
  // A service config may specify more than the type can hold.
  if (pause >= static_cast<double>(duration::max().count())) return duration::max();
  return duration(static_cast<duration::rep>(pause));
}

// A non-fatal end makes the next attempt begin earlier: at once, or when the server's pushback says. Further
// hedges keep their delay relative to it.
next_step attempt_plan::hedge_after(const attempt_end& e, unsigned on_their_way) noexcept {
  const bool fatal = !repeatable().contains(e.how.code());
  if (!fatal || e.told_to_stop()) {
    const bool allowed = count_failure();
    if (!allowed || e.told_to_stop()) no_more_ = true;
  }
  if (fatal) return {};
  if (!no_more_ && made_ < hedging_->max_attempts)
    return {next_step::what::again, e.retry_after.value_or(duration::zero())};
  return {on_their_way > 0 ? next_step::what::wait : next_step::what::give_up, {}};
}

void attempt_plan::committed_ended(status_code code) noexcept {
  if (!throttle_) return;
  if (code == status_code::ok) throttle_->succeeded();
  else if (repeatable().contains(code)) throttle_->failed();
}

}  // namespace coracle::client
