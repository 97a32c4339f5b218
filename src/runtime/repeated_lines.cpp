#include "runtime/repeated_lines.hpp"

#include "base/if_memory_allows.hpp"

#include <algorithm>

namespace coracle {

namespace {
// The subject of all those for which there is no place.
const std::pair<const void*, std::string>& others() {
  static const auto& subject = *new std::pair<const void*, std::string>();
  return subject;
}
}  // namespace

repeated_lines::repeated_lines() noexcept {
  timer::fire = [](coro::timer& t) noexcept {
    auto& self = static_cast<repeated_lines&>(t);
    self.take_stock(self.loop_->now());
  };
}

// The timers of the loop are gone already.
repeated_lines::~repeated_lines() {
  for (auto& [subject, one] : lines_) write_suppressed(one);
}

void repeated_lines::write(loop& here, log_room room, log_level level, const void* place,
                           std::string_view subject, std::string text,
                           const std::optional<log_trace>& trace) {
  if (!here.log().is_enabled(room, level)) return;
  here.local<repeated_lines>().add(here, room, level, {place, std::string(subject)}, std::move(text), trace);
}

void repeated_lines::add(loop& here, log_room room, log_level level,
                         std::pair<const void*, std::string> subject, std::string text,
                         const std::optional<log_trace>& trace) {
  loop_ = &here;
  log_ = &here.log();
  auto found = lines_.find(subject);
  if (found == lines_.end() && lines_.size() >= subjects_max) {
    subject = others();
    found = lines_.find(subject);
  }
  const time_point now = here.now();
  if (found != lines_.end() && now < found->second.due) {
    ++found->second.suppressed;
    found->second.last = std::move(text);
    found->second.trace = trace;
    return;
  }
  line& one = lines_[std::move(subject)];
  write_suppressed(one);
  one.due = deadline_after(now, interval);
  one.room = room;
  one.level = level;
  if (!timer::holder) here.arm(*this, one.due);
  log_->in(room, trace).write(level, text);
}

// Ends the intervals that are over. A subject about which no line was suppressed is forgotten.
void repeated_lines::take_stock(time_point now) noexcept {
  time_point next_due = never;
  for (auto it = lines_.begin(); it != lines_.end();) {
    line& one = it->second;
    if (one.due <= now && one.suppressed == 0) {
      it = lines_.erase(it);
      continue;
    }
    if (one.due <= now) {
      write_suppressed(one);
      one.due = deadline_after(now, interval);
    }
    next_due = std::min(next_due, one.due);
    ++it;
  }
  if (next_due != never) loop_->arm(*this, next_due);
}

void repeated_lines::write_suppressed(line& of) noexcept {
  const std::uint64_t n = std::exchange(of.suppressed, 0);
  if (n == 0) return;
  base::if_memory_allows([&] {
    if (n > 1) of.last.append(" (and ").append(std::to_string(n - 1)).append(" times before in 10 s)");
    log_->in(of.room, of.trace).write(of.level, of.last);
  });
  of.last = {};
}

}  // namespace coracle
