#include "tools/load/progress.hpp"

#include "tools/load/quantities.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace coracle::tools::load {

namespace {

long long microseconds(duration d) {
  return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}

void print_line(std::size_t second, const second_of_load& s) {
  const latency_histogram& l = s.latency;
  std::fprintf(
      stderr,
      "second=%zu calls=%llu mean_us=%lld max_us=%lld min_us=%lld errors=%llu active=%llu p50_us=%lld "
      "p99_us=%lld\n",
      second, static_cast<unsigned long long>(s.calls()), microseconds(l.mean()), microseconds(l.max()),
      microseconds(l.min()), static_cast<unsigned long long>(s.failed),
      static_cast<unsigned long long>(s.active), microseconds(l.quantile(0.5)),
      microseconds(l.quantile(0.99)));
}

}  // namespace

progress::progress(bool lines, live_export& exported)
    : lines_(lines), live_(!lines && ::isatty(STDERR_FILENO) == 1), exported_(exported) {}

void progress::begins(const std::string& run, const std::string& scenario, std::optional<duration> length,
                      std::optional<std::uint64_t> planned) {
  exported_.begins(run);
  length_ = length;
  planned_ = planned;
  calls_ = failed_ = 0;
  if (live_) std::fprintf(stderr, "%s\n", scenario.c_str());
}

std::string progress::part_done(std::size_t second) const {
  double part = 0;
  if (length_ && *length_ > duration())
    part = static_cast<double>(second + 1) / std::chrono::duration<double>(*length_).count();
  if (planned_ && *planned_ > 0)
    part = std::max(part, static_cast<double>(calls_) / static_cast<double>(*planned_));
  if (part <= 0) return {};
  return "  " + std::to_string(static_cast<int>(std::min(part, 1.0) * 100)) + " %";
}

void progress::warms_up(duration left) {
  if (!live_) return;
  std::fprintf(stderr, "\rwarming up, %s left\033[K", format_duration(left).c_str());
  std::fflush(stderr);
}

void progress::second_passed(std::size_t second, const second_of_load& s) {
  exported_.second_passed(second, s);
  if (lines_) print_line(second, s);
  if (!live_) return;
  calls_ += s.calls();
  failed_ += s.failed;
  // "\033[K" erases the rest of the previous line.
  std::fprintf(stderr, "\r%zu s%s  %s/s  active %s  errors %s  p50 %s  p99 %s\033[K", second + 1,
               part_done(second).c_str(), format_count(s.latency.count()).c_str(),
               format_count(s.active).c_str(), format_count(failed_).c_str(),
               format_duration(s.latency.quantile(0.5)).c_str(),
               format_duration(s.latency.quantile(0.99)).c_str());
  std::fflush(stderr);
}

void progress::ends() {
  if (live_) std::fputs("\r\033[K", stderr);
}

}  // namespace coracle::tools::load
