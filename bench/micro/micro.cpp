// bench_micro [NAME...]: the cost of the runtime's small operations; a line each: name median_ns min_ns
// max_ns.
#include "micro/micro_benchmark.hpp"
#include "micro/samples.hpp"

#include <chrono>
#include <cstdio>
#include <string_view>

namespace {

using clock_type = std::chrono::steady_clock;

coracle::task<> measure(const bench::micro_benchmark& what) {
  bench::samples taken;
  std::uint64_t times = 16;
  while (!taken.full()) {
    const clock_type::time_point start = clock_type::now();
    co_await what.repeat(times);
    const clock_type::duration all = clock_type::now() - start;
    if (all < bench::samples::at_least) times *= 2;
    else taken.add(all, times);
  }
  taken.print(what.name);
}

bool wanted(std::string_view name, int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (name == argv[i]) return true;
  return argc == 1;
}

}  // namespace

int main(int argc, char** argv) {
  coracle::runtime rt(2);
  int found = 0;
  for (const auto& some : {bench::task_benchmarks(), bench::sync_benchmarks(), bench::loop_benchmarks()})
    for (const bench::micro_benchmark& one : some)
      if (wanted(one.name, argc, argv)) {
        coracle::sync_wait(rt, rt.at(0), measure(one));
        ++found;
      }
  if (found == 0) std::fputs("usage: bench_micro [NAME...]; alone it runs all of them\n", stderr);
  return found == 0 ? 2 : 0;
}
