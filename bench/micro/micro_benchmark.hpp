// micro_benchmark: one line of bench_micro.
#pragma once

#include <coracle/runtime.hpp>

#include <cstdint>
#include <span>

namespace bench {

// `repeat` does it so many times in a row, on loop 0 of a runtime that has two.
struct micro_benchmark {
  const char* name;
  coracle::task<> (*repeat)(std::uint64_t times);
};

std::span<const micro_benchmark> task_benchmarks() noexcept;
std::span<const micro_benchmark> sync_benchmarks() noexcept;
std::span<const micro_benchmark> loop_benchmarks() noexcept;

}  // namespace bench
