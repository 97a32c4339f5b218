#include "server/admission/waiting_line.hpp"

#include <algorithm>

namespace coracle::server_internal {

std::size_t waiting_line::capacity(time_point now) const noexcept {
  if (!is_pressed(now)) return calls_max;
  const std::size_t taken = std::max(taken_, taken_before_);
  return std::clamp<std::size_t>(taken * static_cast<std::size_t>(pressed_patience / duration(1)) /
                                     static_cast<std::size_t>(patience / duration(1)),
                                 pressed_calls_min, calls_max);
}

bool waiting_line::has_room(criticality level, time_point now) const noexcept {
  if (size_ < capacity(now)) return true;
  for (std::size_t i = 0; i < static_cast<std::size_t>(level); ++i)
    if (lists_[i].size != 0) return true;
  return false;
}

limited_call* waiting_line::push(limited_call& c, time_point now) noexcept {
  limited_call* out = nullptr;
  if (size_ >= capacity(now)) {
    for (std::size_t i = 0; !out && i < static_cast<std::size_t>(c.level); ++i) out = lists_[i].oldest;
    if (out) remove(*out);
  }
  if (size_ == 0 && !out) nonempty_since_ = now;
  c.since = now;
  level_list& list = list_of(c.level);
  c.older = list.newest;
  (list.newest ? list.newest->newer : list.oldest) = &c;
  list.newest = &c;
  ++list.size;
  ++size_;
  return out;
}

void waiting_line::count_taken(time_point now) noexcept {
  if (now - interval_began_ >= patience) {
    taken_before_ = now - interval_began_ >= 2 * patience ? 0 : taken_;
    taken_ = 0;
    interval_began_ = now;
  }
  ++taken_;
}

limited_call* waiting_line::take(time_point now) noexcept {
  const bool newest_first = is_pressed(now);
  for (std::size_t i = lists_.size(); i-- > 0;) {
    limited_call* const next = newest_first ? lists_[i].newest : lists_[i].oldest;
    if (!next) continue;
    remove(*next);
    count_taken(now);
    return next;
  }
  return nullptr;
}

limited_call* waiting_line::take_expired(time_point now) noexcept {
  const duration waits = is_pressed(now) ? pressed_patience : patience;
  for (const level_list& list : lists_) {
    limited_call* const oldest = list.oldest;
    if (!oldest || now - oldest->since < waits) continue;
    remove(*oldest);
    return oldest;
  }
  return nullptr;
}

time_point waiting_line::next_expiry() const noexcept {
  time_point first = never;
  if (size_ == 0) return first;
  for (const level_list& list : lists_)
    if (list.oldest) first = std::min(first, list.oldest->since);
  // It becomes pressed at a time that is no later than `patience` after the oldest call came.
  const time_point pressed = deadline_after(nonempty_since_, patience);
  return std::max(std::min(pressed, deadline_after(first, patience)),
                  deadline_after(first, pressed_patience));
}

void waiting_line::remove(limited_call& c) noexcept {
  level_list& list = list_of(c.level);
  (c.older ? c.older->newer : list.oldest) = c.newer;
  (c.newer ? c.newer->older : list.newest) = c.older;
  c.older = c.newer = nullptr;
  --list.size;
  --size_;
}

}  // namespace coracle::server_internal
