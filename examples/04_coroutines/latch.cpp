// Somebody waits until a given number of tasks have arrived: latch.
#include "check.hpp"

#include "coracle/runtime.hpp"

#include <atomic>
#include <chrono>

using namespace std::chrono_literals;

coracle::task<> prepare(coracle::latch& ready, std::atomic<int>& prepared, std::chrono::milliseconds takes) {
  const coracle::latch::arrival arrives(ready);  // counts down when this task ends, whatever happens
  co_await coracle::sleep_for(takes);
  ++prepared;
}

coracle::task<> begin_when_ready(coracle::latch& ready, std::atomic<int>& prepared, int& at_start) {
  co_await ready;
  at_start = prepared;
}

int main() {
  constexpr int parts = 5;
  coracle::runtime rt(2);
  coracle::latch ready(parts, rt.at(0));
  std::atomic<int> prepared = 0;
  int at_start = 0;
  rt.spawn_on(rt.at(0), begin_when_ready(ready, prepared, at_start));
  for (int i = 0; i < parts; ++i) rt.spawn(prepare(ready, prepared, 1ms * i));  // over both loops in turn
  rt.run();
  check(at_start == parts, "nobody began before all parts were ready");
}
