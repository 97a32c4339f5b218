#include "server/admission/concurrency_limit.hpp"

#include <algorithm>
#include <cmath>

namespace coracle::server_internal {

namespace {

double seconds(duration d) noexcept { return std::chrono::duration<double>(d).count(); }

// The limit never shrinks by more than this in a window.
constexpr double shrinks_to = 0.5;
// How fast the limit grows until the first queue: less than double what has just been used up, so that the
// loop does not count as idle while a queue begins.
constexpr double leap = 1.75;
// So many windows at the minimum, with a queue all the same, mean that calls take longer than before.
constexpr std::uint8_t windows_at_min_max = 5;
// How much longer than usual a call can take because of a queue that the limit has left.
constexpr double slow_call = 5;
// How fast the latencies of a loop with little to do change those without a queue.
constexpr double idle_share = 0.1;
// How fast the highest rate is forgotten, in a window.
constexpr double work_share = 0.05;
// The part of the concurrency without a queue that remains during a measurement.
constexpr double measured_share = 0.9;
// A measurement that finds latencies above this multiple of those before is doubted.
constexpr double doubted_above = 2;
// So many further measurements make what was doubted the usual.
constexpr std::uint8_t confirmations_max = 20;

}  // namespace

concurrency_limit::concurrency_limit(std::size_t min, std::size_t max, std::size_t methods,
                                     std::uint64_t seed)
    : methods_(methods), random_(seed | 1) {
  set_bounds(min, max);
  seen_.reserve(methods);
}

void concurrency_limit::set_bounds(std::size_t min, std::size_t max) noexcept {
  min_ = static_cast<double>(std::max<std::size_t>(min, 1));
  max_ = std::max(static_cast<double>(max), min_);
  limit_ = std::clamp(limit_, min_, max_);
  limit_before_ = std::clamp(limit_before_, min_, max_);
}

void concurrency_limit::begin_window(time_point now) noexcept {
  for (const std::uint32_t m : seen_) {
    methods_[m].sum = 0;
    methods_[m].calls = 0;
  }
  seen_.clear();
  calls_ = 0;
  running_max_ = 0;
  window_began_ = now;
}

void concurrency_limit::call_ended(std::uint32_t method, time_point began, time_point now, bool ok,
                                   std::size_t running) noexcept {
  if (!begun_) {
    begun_ = true;
    window_began_ = began;
    measure_at_ = deadline_after(now, first_measurement);
  }
  if (measuring_ &&
      now - window_began_ >= std::max(measuring_interval, 6 * measuring_for_) + 2 * (now - began)) {
    // Its calls have stopped.
    limit_ = limit_before_;
    leave_measurement(now);
  }
  if (began < admitted_from_ || now < window_began_) return;
  method_latency& m = methods_[method];
  const double latency = seconds(now - began);
  // Without a window, because all calls may fail in a queue. This one may be far slower than the others.
  if (is_doubted() && !measuring_ && now >= measure_at_ && m.usual > 0)
    return begin_measurement(now, std::min(latency, m.usual * slow_call));
  if (!ok && (m.usual == 0 || latency <= m.usual)) return;
  if (m.calls == 0) seen_.push_back(method);  // never more than were reserved
  m.sum += latency;
  ++m.calls;
  ++calls_;
  running_max_ = std::max(running_max_, running);
  const duration passed = now - window_began_;
  const bool is_window = (passed >= window_time && calls_ >= window_calls) ||
                         (passed >= long_window_time && calls_ >= long_window_calls);
  if (!measuring_) {
    if (is_window) end_window(now);
  } else if ((passed >= measuring_for_ && calls_ >= window_calls) ||
             (passed >= 5 * measuring_for_ && calls_ >= long_window_calls)) {
    end_measurement(now);
  } else if (is_window && is_doubted() && is_slower()) {
    // The calls that end first are the fast ones, so it is certain, and the limit is not low for longer.
    confirm(now);
  }
}

// Than before the doubt, or than usual.
bool concurrency_limit::is_slower() const noexcept {
  double now = 0;
  double before = 0;
  for (const std::uint32_t i : seen_) {
    const method_latency& m = methods_[i];
    const double reference = is_doubted() ? m.before_doubt : m.usual;
    if (reference == 0) continue;  // a method that was not known
    now += m.sum;
    before += reference * m.calls;
  }
  return now > doubted_above * before;
}

void concurrency_limit::end_measurement(time_point now) noexcept {
  const bool slower = is_slower();
  if (is_doubted() && slower) return confirm(now);
  doubts_ = 0;
  // Before the first measurement, what is usual is a guess.
  if (slower && measured_) {
    for (method_latency& m : methods_) m.before_doubt = m.usual;
    work_before_doubt_ = work_;
    doubts_ = 1;
  }
  double all = 0;
  for (const std::uint32_t i : seen_) {
    method_latency& m = methods_[i];
    const double share = m.usual == 0 ? 1 : std::min(1.0, m.calls / static_cast<double>(long_window_calls));
    m.usual += (m.sum / m.calls - m.usual) * share;
    all += m.sum;
  }
  work_ = all / seconds(now - window_began_);
  measured_ = true;
  leave_measurement(now);
}

void concurrency_limit::confirm(time_point now) noexcept {
  if (++doubts_ > confirmations_max) doubts_ = 0;
  limit_ = limit_before_;
  leave_measurement(now);
}

void concurrency_limit::leave_measurement(time_point now) noexcept {
  measuring_ = false;
  // splitmix64's step: only servers that begin together must not stay together.
  random_ += 0x9e3779b97f4a7c15;
  const std::uint64_t bits = (random_ ^ (random_ >> 30)) * 0xbf58476d1ce4e5b9;
  const duration interval =
      is_doubted() && doubts_ < 5 ? std::chrono::seconds(1 << doubts_) : measuring_interval;
  const auto jitter = interval * static_cast<std::int64_t>(bits >> 54) / 1024;
  measure_at_ = deadline_after(now, interval + jitter);
  begin_window(now);
}

void concurrency_limit::begin_measurement(time_point now, double latency) noexcept {
  limit_before_ = limit_;
  // If the usual is doubted, so is the work that follows from it.
  const double work = is_doubted() ? work_before_doubt_ : work_;
  limit_ = std::max(min_, std::min(limit_, work * measured_share));
  windows_at_min_ = 0;
  measuring_ = true;
  admitted_from_ = now;
  // The window begins when most calls of the higher limit have ended, and lasts for several of them: calls
  // count by when they end, and long ones must have had the time to.
  const auto usual =
      std::chrono::duration_cast<duration>(std::chrono::duration<double>(std::min(latency, 30.0)));
  measuring_for_ = std::max(measuring_time, 4 * usual);
  begin_window(deadline_after(now, 2 * usual));
}

void concurrency_limit::end_window(time_point now) noexcept {
  const auto used = static_cast<double>(running_max_);
  const bool idle = used < limit_ / 2;
  const bool full = used >= 0.9 * static_cast<double>(limit());
  double all = 0;  // what the calls took together
  double usual = 0;  // and what they would have taken without a queue
  for (const std::uint32_t i : seen_) {
    method_latency& m = methods_[i];
    const double latency = m.sum / m.calls;
    if (m.usual == 0) m.usual = latency;
    else if (idle) m.usual += (latency - m.usual) * idle_share;
    measured_ = measured_ || idle;
    all += m.sum;
    usual += m.usual * m.calls;
  }
  const double work = usual / seconds(now - window_began_);
  work_ = std::max(work, work_ + (work - work_) * work_share);
  const double latency = all / calls_;
  const double gradient = all > 0 ? std::clamp(tolerance * usual / all, shrinks_to, 1.0) : 1.0;
  // Within an idle loop nothing queues: longer latencies are chance there, or a slower dependency.
  if (gradient < 1 && !idle) {
    leaps_ = false;
    windows_at_min_ = limit_ <= min_ ? windows_at_min_ + 1 : 0;
    limit_ = std::max(min_, limit_ * (1 + gradient) / 2);
  } else {
    windows_at_min_ = 0;
    if (full)
      limit_ = std::min(max_, leaps_ ? leap * limit_ : limit_ + std::max(std::sqrt(limit_), limit_ / 10));
  }
  // While the limit is not used up, it lets no queue grow, and a lower one would reject calls for nothing. At
  // the beginning of a surge it must grow first.
  if (!full && !is_doubted()) measure_at_ = std::max(measure_at_, deadline_after(now, first_measurement));
  if (now >= measure_at_ || windows_at_min_ >= windows_at_min_max) return begin_measurement(now, latency);
  begin_window(now);
}

}  // namespace coracle::server_internal
