// bench_micro [NAME...]: the cost of the runtime's small operations; a line each: name median_ns min_ns
// max_ns.
#include "micro/micro_benchmark.hpp"

#include <benchmark/benchmark.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int repetitions = 101;
// Long enough that reading the clock does not show; short enough that most of them are not interrupted on
// a machine that does other things as well, so that the median is not, either.
constexpr double repetition_s = 0.0005;

// The loop's own time: a runtime's thread waits for what another one asks of it.
coracle::task<double> seconds_of(const bench::micro_benchmark& measured, std::uint64_t times) {
  const auto start = std::chrono::steady_clock::now();
  co_await measured.repeat(times);
  co_return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void measure(benchmark::State& state, coracle::runtime& rt, const bench::micro_benchmark& measured) {
  while (state.KeepRunningBatch(state.max_iterations)) {
    const auto times = static_cast<std::uint64_t>(state.max_iterations);
    state.SetIterationTime(coracle::sync_wait(rt, rt.at(0), seconds_of(measured, times)));
  }
}

// name median_ns min_ns max_ns, of all repetitions.
class line_reporter final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    std::vector<double> ns;
    for (const Run& run : runs)
      if (run.run_type == Run::RT_Iteration) ns.push_back(run.GetAdjustedRealTime());
    if (ns.empty()) return;
    std::sort(ns.begin(), ns.end());
    std::printf("%s %.2f %.2f %.2f\n", runs.front().run_name.function_name.c_str(), ns[ns.size() / 2],
                ns.front(), ns.back());
    std::fflush(stdout);
  }
};

// A pattern that matches exactly these names; all without one.
std::string pattern_of(int argc, char** argv) {
  std::string pattern;
  for (int i = 1; i < argc; ++i) pattern.append(i == 1 ? "^(" : "|").append(argv[i]);
  return argc == 1 ? "." : pattern + ")/";
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  coracle::runtime rt(2);
  for (const auto& some : {bench::task_benchmarks(), bench::sync_benchmarks(), bench::loop_benchmarks()})
    for (const bench::micro_benchmark& one : some)
      benchmark::RegisterBenchmark(one.name,
                                   [&rt, &one](benchmark::State& state) { measure(state, rt, one); })
          ->UseManualTime()
          ->MinTime(repetition_s)
          ->Repetitions(repetitions);
  line_reporter lines;
  if (benchmark::RunSpecifiedBenchmarks(&lines, pattern_of(argc, argv)) != 0) return 0;
  std::fputs("usage: bench_micro [NAME...] [--benchmark_...]; alone it runs all of them\n", stderr);
  return 2;
}
