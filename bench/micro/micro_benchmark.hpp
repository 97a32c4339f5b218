// micro_benchmark: one line of bench_micro.
#pragma once

#include <coracle/runtime.hpp>

#include <cstdint>
#include <span>

namespace bench {

// `repeat` runs it the given number of times in a row, on loop 0 of a runtime with two loops.
struct micro_benchmark {
  const char* name;
  coracle::task<> (*repeat)(std::uint64_t times);
};

std::span<const micro_benchmark> task_benchmarks() noexcept;
std::span<const micro_benchmark> sync_benchmarks() noexcept;
std::span<const micro_benchmark> loop_benchmarks() noexcept;

}  // namespace bench
