#include "client/call/retry_state.hpp"

#include <algorithm>
#include <cmath>

namespace coracle::client {

std::optional<duration> retry_state::next_hedge() const noexcept {
  if (!hedging_ || no_more_ || made_ >= hedging_->max_attempts) return std::nullopt;
  return hedging_->delay;
}

bool retry_state::attempt_allowed() noexcept {
  if (no_more_) return false;
  // The throttle of a retry was asked when the attempt before it failed.
  if ((hedging_ && throttle_ && !throttle_->allows()) || (budget_ && !budget_->take()))
    no_more_ = throttled_ = true;
  return !no_more_;
}

next_step retry_state::failed(const attempt_result& e, unsigned attempts_in_flight,
                              std::uint64_t random) noexcept {
  if (e.final) return {};
  if (e.displaced) {
    no_more_ = true;
    return {attempts_in_flight > 0 ? next_step::action::wait : next_step::action::fail, {}};
  }
  return retry_ ? retry_after(e, random) : hedge_after(e, attempts_in_flight);
}

next_step retry_state::retry_after(const attempt_result& e, std::uint64_t random) noexcept {
  if (e.forbids_retry()) {
    count_failure();
    return {};
  }
  if (!repeatable().contains(e.outcome.code())) return {};
  // The failure counts even if no attempt is left.
  const bool allowed = count_failure();
  if (made_ >= retry_->max_attempts) return {};
  throttled_ = !allowed || (budget_ && budget_->available() == 0);
  if (throttled_) return {};
  if (!e.retry_after) return {next_step::action::retry, backoff(random)};
  pauses_ = 0;  // the backoff starts again after a pushback
  return {next_step::action::retry, *e.retry_after};
}

// random(0.8, 1.2) * min(initialBackoff * multiplier^n, maxBackoff)
duration retry_state::backoff(std::uint64_t random) noexcept {
  const double grown = static_cast<double>(retry_->initial_backoff.count()) *
                       std::pow(retry_->backoff_multiplier, static_cast<double>(pauses_++));
  const double max_pause = static_cast<double>(retry_->max_backoff.count());
  const double spread = 0.8 + 0.4 * (static_cast<double>(random % 1'000'001) / 1'000'000.0);
  const double pause = std::min(max_pause, grown) * spread;
  // A service config may specify more than the type can hold.
  if (pause >= static_cast<double>(duration::max().count())) return duration::max();
  return duration(static_cast<duration::rep>(pause));
}

// A non-fatal end makes the next attempt begin earlier: at once, or when the server's pushback says. Further
// hedges keep their delay relative to it.
next_step retry_state::hedge_after(const attempt_result& e, unsigned attempts_in_flight) noexcept {
  const bool fatal = !repeatable().contains(e.outcome.code());
  if (!fatal || e.forbids_retry()) {
    const bool allowed = count_failure();
    throttled_ = !allowed && !fatal && made_ < hedging_->max_attempts;
    if (!allowed || e.forbids_retry()) no_more_ = true;
  }
  if (fatal) return {};
  if (!no_more_ && made_ < hedging_->max_attempts)
    return {next_step::action::retry, e.retry_after.value_or(duration::zero())};
  return {attempts_in_flight > 0 ? next_step::action::wait : next_step::action::fail, {}};
}

void retry_state::committed_ended(status_code code) noexcept {
  if (!throttle_) return;
  if (code == status_code::ok) throttle_->succeeded();
  else if (repeatable().contains(code)) throttle_->failed();
}

}  // namespace coracle::client
