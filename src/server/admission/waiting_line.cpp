#include "server/admission/waiting_line.hpp"

#include <algorithm>
#include <utility>

namespace coracle::server_internal {

void waiting_line::pass_time(time_point now) noexcept {
  const auto pass_until = [this](time_point t) {
    if (size_ != 0) nonempty_ += t - passed_until_;
    passed_until_ = t;
  };
  if (now - interval_began_ >= patience) {
    pass_until(interval_began_ + patience);
    stays_pressed_ = nonempty_ > patience / 2;
    taken_before_ = std::exchange(taken_, 0);
    nonempty_ = {};
    interval_began_ = passed_until_;
    if (now - interval_began_ >= patience) {  // nothing has changed for a whole interval
      stays_pressed_ = size_ != 0;
      taken_before_ = 0;
      interval_began_ = passed_until_ = now;
    }
  }
  pass_until(now);
}

std::size_t waiting_line::capacity(time_point now) const noexcept {
  if (!is_pressed(now)) return calls_max;
  const std::size_t taken = std::max(taken_, taken_before_);
  return std::clamp<std::size_t>(taken * static_cast<std::size_t>(pressed_patience / duration(1)) /
                                     static_cast<std::size_t>(patience / duration(1)),
                                 pressed_calls_min, calls_max);
}

bool waiting_line::has_room(criticality level, std::uint64_t client, time_point now) const noexcept {
  if (size_ < capacity(now)) return true;
  for (std::size_t i = 0; i < static_cast<std::size_t>(level); ++i)
    if (!levels_[i].empty()) return true;
  const client_turns& own = turns_of(level);
  if (own.is_greedier_than(client)) return true;
  // One beyond the last place, unless calls that leave before it wait already.
  return own.is_first_of(client) && std::all_of(levels_.begin() + static_cast<int>(level) + 1, levels_.end(),
                                                [](const client_turns& l) { return l.empty(); });
}

limited_call* waiting_line::push(limited_call& c, time_point now) noexcept {
  pass_time(now);
  limited_call* out = nullptr;
  if (size_ >= capacity(now)) {
    for (std::size_t i = 0; !out && i < static_cast<std::size_t>(c.level); ++i)
      out = levels_[i].first_to_lose();
    if (!out && turns_of(c.level).is_greedier_than(c.client)) out = turns_of(c.level).first_to_lose();
    if (out) remove(*out);
  }
  if (size_ == 0 && !out) nonempty_since_ = now;
  c.since = now;
  turns_of(c.level).push(c);
  ++size_;
  return out;
}

limited_call* waiting_line::take(time_point now) noexcept {
  pass_time(now);
  const bool newest_first = is_pressed(now);
  for (std::size_t i = levels_.size(); i-- > 0;) {
    limited_call* const next = levels_[i].take(newest_first);
    if (!next) continue;
    --size_;
    ++taken_;
    return next;
  }
  return nullptr;
}

limited_call* waiting_line::take_expired(time_point now) noexcept {
  pass_time(now);
  const duration waits = is_pressed(now) ? pressed_patience : patience;
  for (const client_turns& level : levels_) {
    limited_call* const oldest = level.oldest();
    if (!oldest || now - oldest->since < waits) continue;
    remove(*oldest);
    return oldest;
  }
  return nullptr;
}

void waiting_line::give_back(const limited_call& c) noexcept {
  turns_of(c.level).give_back(c);
  --taken_;
}

time_point waiting_line::next_expiry(time_point now) const noexcept {
  time_point first = never;
  if (size_ == 0) return first;
  for (const client_turns& level : levels_)
    if (level.oldest()) first = std::min(first, level.oldest()->since);
  if (is_pressed(now)) return deadline_after(first, pressed_patience);
  // It becomes pressed at a time that is no later than `patience` after the oldest call came.
  const time_point pressed = deadline_after(nonempty_since_, patience);
  return std::max(std::min(pressed, deadline_after(first, patience)),
                  deadline_after(first, pressed_patience));
}

void waiting_line::remove(limited_call& c) noexcept {
  turns_of(c.level).remove(c);
  --size_;
}

}  // namespace coracle::server_internal
