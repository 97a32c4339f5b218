#include "server/admission/admission_control.hpp"

#include <algorithm>

namespace coracle::server_internal {

admission_control::admission_control(const admission_options& o, std::size_t methods, std::uint64_t seed)
    : limit_(o.min_concurrency, o.max_concurrency, methods, seed), quick_(methods) {}

admission_control::verdict admission_control::check_deadline(std::uint32_t method, time_point deadline,
                                                             time_point now) noexcept {
  if (deadline == never) return verdict::permitted;
  quick_latency& q = quick_[method];
  if (q.calls < calls_min || std::chrono::duration<double>(deadline - now).count() >= q.seconds)
    return verdict::permitted;
  if (now - q.tried < try_interval) return verdict::too_late;
  q.tried = now;
  // As if it were faster: it may end without a latency, and then the next ones must not all be rejected.
  q.seconds *= try_decreases_to;
  return verdict::tried;
}

admission_control::verdict admission_control::check(std::uint32_t method, criticality level,
                                                    std::uint64_t client, time_point deadline,
                                                    time_point now) noexcept {
  if (!is_free() && !line_.has_room(level, client, now)) return verdict::overloaded;
  return check_deadline(method, deadline, now);
}

admission_control::entry admission_control::enter(limited_call& c, time_point now) noexcept {
  c.since = now;
  if (is_free()) {
    ++running_;
    return entry::runs;
  }
  if (!line_.has_room(c.level, c.client, now)) return entry::rejected;
  c.cost_s = quick_[c.method].seconds;
  if (limited_call* const other = line_.push(c, now)) other->rejected(false);
  return entry::waits;
}

void admission_control::ended(const limited_call& c, bool ok, time_point now) noexcept {
  limit_.call_ended(c.method, c.since, now, ok, running_);
  --running_;
  quick_latency& q = quick_[c.method];
  const double latency = std::chrono::duration<double>(now - c.since).count();
  if (!ok && (q.seconds == 0 || latency <= q.seconds)) return;  // failures are often fast
  q.calls = std::min(q.calls + 1, calls_min);
  // In balance if a tenth of the latencies is below.
  if (q.seconds == 0) q.seconds = latency;
  else q.seconds *= latency < q.seconds ? decreases_to : 1.01;
}

void admission_control::advance(time_point now) noexcept {
  while (limited_call* const c = line_.take_expired(now)) c->rejected(false);
  while (has_free_place()) {
    limited_call* const c = line_.take(now);
    if (!c) return;
    if (check_deadline(c->method, c->deadline, now) == verdict::too_late) {
      line_.give_back(*c);
      c->rejected(true);
      continue;
    }
    c->since = now;
    ++running_;
    c->admitted();
  }
}

time_point admission_control::next_event(time_point now) noexcept {
  if (line_.empty()) return never;
  return has_free_place() ? now : line_.next_expiry(now);
}

}  // namespace coracle::server_internal
