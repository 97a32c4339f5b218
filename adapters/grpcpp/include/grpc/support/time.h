// gpr_timespec: a point in time of one of three clocks, or a span, with saturating arithmetic.
#pragma once

#include <grpcpp/impl/one_library.h>

#include <cstdint>

enum gpr_clock_type {
  GPR_CLOCK_MONOTONIC = 0,
  GPR_CLOCK_REALTIME,
  GPR_CLOCK_PRECISE,
  GPR_TIMESPAN,
};

struct gpr_timespec {
  std::int64_t tv_sec;
  std::int32_t tv_nsec;  ///< 0 to 999,999,999
  gpr_clock_type clock_type;
};

#define GPR_MS_PER_SEC 1000
#define GPR_US_PER_SEC 1000000
#define GPR_NS_PER_SEC 1000000000
#define GPR_NS_PER_MS 1000000
#define GPR_NS_PER_US 1000
#define GPR_US_PER_MS 1000

gpr_timespec gpr_time_0(gpr_clock_type type);
gpr_timespec gpr_inf_future(gpr_clock_type type);
gpr_timespec gpr_inf_past(gpr_clock_type type);
gpr_timespec gpr_now(gpr_clock_type clock);
/// Returns the same point in time of another clock. A span becomes the time that is so far away from now.
gpr_timespec gpr_convert_clock_type(gpr_timespec t, gpr_clock_type clock);
/// Returns a negative number, 0 or a positive number as `a` is before, at or after `b`, of the same clock.
int gpr_time_cmp(gpr_timespec a, gpr_timespec b);
gpr_timespec gpr_time_max(gpr_timespec a, gpr_timespec b);
gpr_timespec gpr_time_min(gpr_timespec a, gpr_timespec b);
/// Returns a + b; `b` is a span.
gpr_timespec gpr_time_add(gpr_timespec a, gpr_timespec b);
/// Returns a - b: a span if both are of one clock, else the time that is the span `b` before `a`.
gpr_timespec gpr_time_sub(gpr_timespec a, gpr_timespec b);
gpr_timespec gpr_time_from_nanos(std::int64_t n, gpr_clock_type clock);
gpr_timespec gpr_time_from_micros(std::int64_t n, gpr_clock_type clock);
gpr_timespec gpr_time_from_millis(std::int64_t n, gpr_clock_type clock);
gpr_timespec gpr_time_from_seconds(std::int64_t n, gpr_clock_type clock);
gpr_timespec gpr_time_from_minutes(std::int64_t n, gpr_clock_type clock);
gpr_timespec gpr_time_from_hours(std::int64_t n, gpr_clock_type clock);
/// Returns the milliseconds of a span, within the range of the type.
std::int32_t gpr_time_to_millis(gpr_timespec t);
double gpr_timespec_to_micros(gpr_timespec t);
/// Returns whether `a` and `b` are at most the span `threshold` apart.
int gpr_time_similar(gpr_timespec a, gpr_timespec b, gpr_timespec threshold);
/// Blocks the thread until that time.
void gpr_sleep_until(gpr_timespec until);
