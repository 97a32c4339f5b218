// Coroutines, the runtime and conversions of the module alone.
#include <chrono>
#include <coroutine>
#include <format>
#include <iostream>
#include <string>
#include <tuple>
#include <version>
#ifdef __cpp_lib_expected
#include <expected>
#endif

import coracle;

namespace {

using namespace std::chrono_literals;

coracle::generator<int> numbers() {
  for (int i = 1; i <= 3; ++i) co_yield i;
}

coracle::async_generator<int> squares() {
  for (const int i : numbers()) {
    co_await coracle::sleep_for(1ms);
    co_yield i* i;
  }
}

coracle::task<int> sum() {
  int total = 0;
  auto all = squares();
  while (const auto one = co_await all.next()) total += *one;
  co_return total;
}

coracle::task<int> guarded(coracle::mutex& mutex, int value) {
  const auto guard = co_await mutex.lock();
  co_await coracle::yield();
  co_return value;
}

coracle::task<int> slow() {
  co_await coracle::sleep_for(1h);
  co_return 0;
}

coracle::task<> discard() { co_await coracle::yield(); }

coracle::task<std::string> run() {
  coracle::mutex mutex;
  const auto [a, b, c] = co_await coracle::when_all(sum(), guarded(mutex, 2), guarded(mutex, 3));
  const auto late = co_await coracle::with_timeout(1ms, slow());
  coracle::scope scope;
  scope.spawn(discard());
  co_await scope.join();
  co_return std::to_string(a + b + c) + (late ? " early" : " late");
}

}  // namespace

int main() {
  coracle::runtime runtime;
  std::string said = coracle::sync_wait(runtime, run());
  said += std::format(" {} {}", coracle::status::not_found("no boat"), coracle::status_code::aborted);
  std::cout << said << ' ' << coracle::status::internal("x") << '\n';
#ifdef __cpp_lib_expected
  const coracle::result<int> one = 1;
  if (coracle::to_expected(one).value() != 1) return 1;
#endif
  return said == "19 late NOT_FOUND: no boat ABORTED" ? 0 : 1;
}
