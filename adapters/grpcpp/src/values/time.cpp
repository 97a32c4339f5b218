// gpr_timespec, and the conversion to C++'s clock.
#include <grpc/support/time.h>
#include <grpcpp/support/time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>

namespace {

constexpr std::int64_t forever_s = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t long_ago_s = std::numeric_limits<std::int64_t>::min();

// Times of two clocks have no order and no difference: the original ends the program, too.
void require(bool right, const char* function, const char* rule) {
  if (right) [[likely]]
    return;
  std::fprintf(stderr, "coracle: %s: %s: see gpr_convert_clock_type()\n", function, rule);
  std::abort();
}
constexpr const char* same_clock = "both times must have the same clock_type";
constexpr const char* a_span = "the second time must be a GPR_TIMESPAN";

bool is_infinite(gpr_timespec t) noexcept { return t.tv_sec == forever_s || t.tv_sec == long_ago_s; }

// a + b where b has the sign `sign`.
gpr_timespec sum(gpr_timespec a, gpr_timespec b, int sign, gpr_clock_type type) noexcept {
  if (a.tv_sec == forever_s) return gpr_inf_future(type);
  if (a.tv_sec == long_ago_s) return gpr_inf_past(type);
  if (is_infinite(b)) return (b.tv_sec > 0) == (sign > 0) ? gpr_inf_future(type) : gpr_inf_past(type);
  std::int32_t nanoseconds = a.tv_nsec + sign * b.tv_nsec;
  std::int64_t carry = 0;
  if (nanoseconds >= GPR_NS_PER_SEC) {
    nanoseconds -= GPR_NS_PER_SEC;
    carry = 1;
  } else if (nanoseconds < 0) {
    nanoseconds += GPR_NS_PER_SEC;
    carry = -1;
  }
  std::int64_t seconds = 0;
  const bool over = sign > 0 ? __builtin_add_overflow(a.tv_sec, b.tv_sec, &seconds)
                             : __builtin_sub_overflow(a.tv_sec, b.tv_sec, &seconds);
  if (over || __builtin_add_overflow(seconds, carry, &seconds) || seconds == forever_s ||
      seconds == long_ago_s)
    return (b.tv_sec > 0) == (sign > 0) ? gpr_inf_future(type) : gpr_inf_past(type);
  return {seconds, nanoseconds, type};
}

gpr_timespec from_units(std::int64_t n, std::int64_t per_second, gpr_clock_type type) noexcept {
  if (n == forever_s) return gpr_inf_future(type);
  if (n == long_ago_s) return gpr_inf_past(type);
  std::int64_t seconds = n / per_second;
  std::int64_t rest = n % per_second;
  if (rest < 0) {
    --seconds;
    rest += per_second;
  }
  return {seconds, static_cast<std::int32_t>(rest * (GPR_NS_PER_SEC / per_second)), type};
}

gpr_timespec from_long_units(std::int64_t n, std::int64_t seconds, gpr_clock_type type) noexcept {
  if (n > forever_s / seconds) return gpr_inf_future(type);
  if (n < long_ago_s / seconds) return gpr_inf_past(type);
  return {n * seconds, 0, type};
}

}  // namespace

gpr_timespec gpr_time_0(gpr_clock_type type) { return {0, 0, type}; }
gpr_timespec gpr_inf_future(gpr_clock_type type) { return {forever_s, 0, type}; }
gpr_timespec gpr_inf_past(gpr_clock_type type) { return {long_ago_s, 0, type}; }

gpr_timespec gpr_now(gpr_clock_type clock) {
  if (clock == GPR_TIMESPAN) return gpr_time_0(clock);
  timespec now{};
  ::clock_gettime(clock == GPR_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now);
  return {now.tv_sec, static_cast<std::int32_t>(now.tv_nsec), clock};
}

gpr_timespec gpr_convert_clock_type(gpr_timespec t, gpr_clock_type clock) {
  if (t.clock_type == clock) return t;
  if (is_infinite(t)) return {t.tv_sec, t.tv_nsec, clock};
  if (t.clock_type == GPR_TIMESPAN) return gpr_time_add(gpr_now(clock), t);
  const gpr_timespec from_now = gpr_time_sub(t, gpr_now(t.clock_type));
  return clock == GPR_TIMESPAN ? from_now : gpr_time_add(gpr_now(clock), from_now);
}

int gpr_time_cmp(gpr_timespec a, gpr_timespec b) {
  require(a.clock_type == b.clock_type, "gpr_time_cmp()", same_clock);
  if (a.tv_sec != b.tv_sec) return a.tv_sec < b.tv_sec ? -1 : 1;
  if (is_infinite(a) || a.tv_nsec == b.tv_nsec) return 0;
  return a.tv_nsec < b.tv_nsec ? -1 : 1;
}
gpr_timespec gpr_time_max(gpr_timespec a, gpr_timespec b) { return gpr_time_cmp(a, b) > 0 ? a : b; }
gpr_timespec gpr_time_min(gpr_timespec a, gpr_timespec b) { return gpr_time_cmp(a, b) < 0 ? a : b; }
gpr_timespec gpr_time_add(gpr_timespec a, gpr_timespec b) {
  require(b.clock_type == GPR_TIMESPAN, "gpr_time_add()", a_span);
  return sum(a, b, 1, a.clock_type);
}
gpr_timespec gpr_time_sub(gpr_timespec a, gpr_timespec b) {
  require(b.clock_type == GPR_TIMESPAN || a.clock_type == b.clock_type, "gpr_time_sub()", same_clock);
  return sum(a, b, -1, b.clock_type == GPR_TIMESPAN ? a.clock_type : GPR_TIMESPAN);
}

gpr_timespec gpr_time_from_nanos(std::int64_t n, gpr_clock_type c) {
  return from_units(n, GPR_NS_PER_SEC, c);
}
gpr_timespec gpr_time_from_micros(std::int64_t n, gpr_clock_type c) {
  return from_units(n, GPR_US_PER_SEC, c);
}
gpr_timespec gpr_time_from_millis(std::int64_t n, gpr_clock_type c) {
  return from_units(n, GPR_MS_PER_SEC, c);
}
gpr_timespec gpr_time_from_seconds(std::int64_t n, gpr_clock_type c) { return from_units(n, 1, c); }
gpr_timespec gpr_time_from_minutes(std::int64_t n, gpr_clock_type c) { return from_long_units(n, 60, c); }
gpr_timespec gpr_time_from_hours(std::int64_t n, gpr_clock_type c) { return from_long_units(n, 3600, c); }

std::int32_t gpr_time_to_millis(gpr_timespec t) {
  using limits = std::numeric_limits<std::int32_t>;
  if (t.tv_sec >= limits::max() / GPR_MS_PER_SEC) return limits::max();
  if (t.tv_sec <= limits::min() / GPR_MS_PER_SEC) return limits::min();
  return static_cast<std::int32_t>(t.tv_sec * GPR_MS_PER_SEC + t.tv_nsec / GPR_NS_PER_MS);
}

double gpr_timespec_to_micros(gpr_timespec t) {
  return static_cast<double>(t.tv_sec) * GPR_US_PER_SEC + t.tv_nsec * 1e-3;
}

int gpr_time_similar(gpr_timespec a, gpr_timespec b, gpr_timespec threshold) {
  const gpr_timespec apart = gpr_time_cmp(a, b) < 0 ? gpr_time_sub(b, a) : gpr_time_sub(a, b);
  return gpr_time_cmp(apart, threshold) <= 0 ? 1 : 0;
}

void gpr_sleep_until(gpr_timespec until) {
  for (;;) {
    const gpr_timespec left = gpr_time_sub(until, gpr_now(until.clock_type));
    if (gpr_time_cmp(left, gpr_time_0(GPR_TIMESPAN)) <= 0) return;
    const timespec pause{std::min<std::int64_t>(left.tv_sec, 3600), left.tv_nsec};
    ::nanosleep(&pause, nullptr);
  }
}

namespace grpc {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::system_clock;

// What is before 1970 is no time to wait for: as in the original, there is then no deadline.
void Timepoint2Timespec(const system_clock::time_point& from, gpr_timespec* to) {
  if (from == system_clock::time_point::max() || from < system_clock::time_point()) {
    *to = gpr_inf_future(GPR_CLOCK_REALTIME);
    return;
  }
  const auto since = std::chrono::duration_cast<nanoseconds>(from.time_since_epoch());
  *to = gpr_time_from_nanos(since.count(), GPR_CLOCK_REALTIME);
}

void TimepointHR2Timespec(const std::chrono::high_resolution_clock::time_point& from, gpr_timespec* to) {
  using clock = std::chrono::high_resolution_clock;
  if (from == clock::time_point::max()) return Timepoint2Timespec(system_clock::time_point::max(), to);
  const auto since = std::chrono::duration_cast<system_clock::duration>(from.time_since_epoch());
  Timepoint2Timespec(system_clock::time_point(since), to);
}

system_clock::time_point Timespec2Timepoint(gpr_timespec t) {
  t = gpr_convert_clock_type(t, GPR_CLOCK_REALTIME);
  // What nanoseconds since 1970 cannot express is forever.
  constexpr std::int64_t most_s = std::numeric_limits<std::int64_t>::max() / GPR_NS_PER_SEC - 1;
  if (t.tv_sec > most_s) return system_clock::time_point::max();
  if (t.tv_sec < -most_s) return system_clock::time_point::min();
  return system_clock::time_point(
      std::chrono::duration_cast<system_clock::duration>(seconds(t.tv_sec) + nanoseconds(t.tv_nsec)));
}

}  // namespace grpc
