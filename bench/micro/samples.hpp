// samples: the cost of one operation, over several timings of many in a row.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace bench {

class samples {
 public:
  static constexpr std::size_t count = 101;
  // Long enough that reading the clock has no effect; short enough that most of them are not interrupted on a
  // machine with other work, so that the median is not, either.
  static constexpr std::chrono::microseconds at_least{500};

  void add(std::chrono::nanoseconds all, std::uint64_t times) noexcept {
    ns_[size_++] = static_cast<double>(all.count()) / static_cast<double>(times);
  }
  [[nodiscard]] bool full() const noexcept { return size_ == count; }
  // name median_ns min_ns max_ns
  void print(const char* name) {
    std::sort(ns_.begin(), ns_.end());
    std::printf("%s %.2f %.2f %.2f\n", name, ns_[count / 2], ns_.front(), ns_.back());
    std::fflush(stdout);
  }

 private:
  std::array<double, count> ns_{};
  std::size_t size_ = 0;
};

// The compiler assumes that `value` is used and changed.
template <class T>
void keep(T& value) noexcept {
  asm volatile("" : "+m"(value) : : "memory");
}

}  // namespace bench
