// Computing on several threads while the loop stays free: parallel_for, and parallel_reduce for a result.
#include "check.hpp"

#include "coracle/runtime.hpp"

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <vector>

coracle::task<> compute() {
  std::vector<double> samples(200'000, 1.5);
  auto square = [](double& x) { x *= x; };
  co_await coracle::parallel_for(samples, square);  // each element once, on several threads
  check(samples.front() == 2.25 && samples.back() == 2.25, "every element was squared");

  auto same = [](double x) { return x; };
  const double sum = co_await coracle::parallel_reduce(samples, 0.0, same, std::plus<>());
  check(sum == 450'000.0, "the sum of all elements");

  auto choke_on_1000 = [](std::size_t i) {
    if (i >= 1000) throw std::out_of_range("1000");
  };
  bool thrown = false;
  try {
    co_await coracle::parallel_for(std::size_t{5000}, choke_on_1000);
  } catch (const std::out_of_range&) {
    thrown = true;
  }
  check(thrown, "an exception of an element comes out of the await");
}

int main() {
  coracle::runtime rt;
  coracle::sync_wait(rt, compute());
}
