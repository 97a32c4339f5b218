#include "tools/load/scenario.hpp"

#include "tools/failure.hpp"
#include "tools/load/quantities.hpp"
#include "tools/units.hpp"

#include <chrono>

namespace coracle::tools::load {

namespace {

std::string several(std::uint64_t n, const std::string& thing) {
  return format_count(n) + " " + thing + (n == 1 ? "" : "s");
}

std::string format_rate(double per_s) {
  std::string text = std::to_string(per_s);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text + "/s";
}

std::string describe_stages(const std::vector<stage>& stages) {
  std::string text;
  for (const stage& s : stages) {
    text += text.empty() ? "" : ", then ";
    text += format_rate(s.from_per_s);
    if (s.to_per_s != s.from_per_s) text += " to " + format_rate(s.to_per_s);
    text += " for " + format_duration(s.length);
  }
  return text;
}

usage_failure too_long() {
  return usage_failure("a plan lasts at most " +
                       std::to_string(std::chrono::duration_cast<std::chrono::hours>(length_max).count()) +
                       "h: choose a shorter time, or a smaller count at a higher rate");
}

}  // namespace

stage stage_until(std::uint64_t calls, double rate_per_s) {
  const std::chrono::duration<double> length(static_cast<double>(calls) / rate_per_s);
  if (length > length_max) throw too_long();
  return {rate_per_s, rate_per_s, std::chrono::duration_cast<duration>(length)};
}

stage parse_stage(const std::string& text) {
  const auto refuse = [&] {
    return usage_failure("a stage is RATE:TIME or FROM:TO:TIME, such as 100:30s or 0:100:10s, not '" + text +
                         "'");
  };
  const std::size_t last = text.rfind(':');
  if (last == text.npos) throw refuse();
  const std::string rates = text.substr(0, last);
  const std::size_t first = rates.find(':');
  const auto from = read_number(rates.substr(0, first));
  const auto to = first == rates.npos ? from : read_number(rates.substr(first + 1));
  if (!from || !to) throw refuse();
  return {*from, *to, parse_duration(text.substr(last + 1), "the end of the stage '" + text + "'")};
}

namespace {

void check_bounds(const scenario& s) {
  duration in_all{};
  for (const duration part : {s.length.value_or(duration()), s.warm_up, s.ramp_up})
    if (part > length_max) throw too_long();
  for (const stage& one : s.stages) {
    if (one.from_per_s > rate_per_s_max || one.to_per_s > rate_per_s_max)
      throw usage_failure("a rate is at most " + format_rate(rate_per_s_max));
    if (one.length > length_max - in_all) throw too_long();
    in_all += one.length;
  }
}

}  // namespace

void check(const scenario& s) {
  check_bounds(s);
  if (s.kind == shape::users) {
    if (s.users < s.loops) throw usage_failure("--loops exceeds --users: use at most as many loops as users");
    if (!s.calls_per_user && !s.length)
      throw usage_failure("--users requires --calls-per-user or --duration");
    if (s.warm_up > duration())
      throw usage_failure(
          "--warm-up requires persistent connections, and each user opens its own: remove it");
    return;
  }
  if (s.connections < s.loops)
    throw usage_failure("--connections is less than --loops: use at least one connection per loop");
  if (s.kind == shape::closed && s.concurrency < s.connections)
    throw usage_failure("--concurrency is less than --connections: use at least one worker per connection");
  if (s.kind == shape::open && arrivals(s.stages).planned() == 0)
    throw usage_failure("the plan has no call: set --rate, --ramp or --stage to a rate above 0 and a time");
}

std::string describe(const scenario& s) {
  std::string text;
  switch (s.kind) {
    case shape::closed:
      text = several(s.concurrency, "worker") + " on " + several(s.connections, "connection");
      if (s.count) text += ", " + several(*s.count, "call");
      if (s.length) text += (s.count ? ", at most " : ", ") + format_duration(*s.length);
      break;
    case shape::open: text = describe_stages(s.stages) + " on " + several(s.connections, "connection"); break;
    case shape::users:
      text = several(s.users, "user") + ", one connection each";
      if (s.ramp_up > duration()) text += ", ramp-up " + format_duration(s.ramp_up);
      if (s.calls_per_user) text += ", " + several(*s.calls_per_user, "call") + " each";
      if (s.length) text += (s.calls_per_user ? ", at most " : ", ") + format_duration(*s.length);
      break;
  }
  if (s.loops > 1) text += ", from " + std::to_string(s.loops) + " loops";
  if (s.warm_up > duration()) text += ", after " + format_duration(s.warm_up) + " to warm up";
  return text;
}

std::optional<std::uint64_t> planned_calls(const scenario& s) {
  switch (s.kind) {
    case shape::closed: return s.length ? std::nullopt : s.count;
    case shape::open: return arrivals(s.stages).planned();
    case shape::users:
      if (s.calls_per_user && !s.length) return s.users * *s.calls_per_user;
  }
  return std::nullopt;
}

std::optional<duration> planned_time(const scenario& s) {
  if (s.kind == shape::open) return arrivals(s.stages).length();
  return s.length;
}

}  // namespace coracle::tools::load
