// at_once: the same function on several plain threads, which begin together.
#pragma once

#include <latch>
#include <thread>
#include <vector>

namespace coracle::testing_support {

// Calls f(0), f(1), ... f(threads - 1), each on a thread of its own, and returns when all of them have
// returned.
template <class F>
void at_once(int threads, F f) {
  std::latch all_are_there(threads);
  std::vector<std::jthread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      all_are_there.arrive_and_wait();
      f(i);
    });
  }
}

}  // namespace coracle::testing_support
