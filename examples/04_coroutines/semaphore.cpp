// A limit on how many tasks do something at the same time: semaphore.
#include "check.hpp"

#include "coracle/runtime.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

using namespace std::chrono_literals;

struct usage {
  std::atomic<int> now = 0;
  std::atomic<int> at_most = 0;
};

coracle::task<> use_a_connection(coracle::semaphore& connections, usage& used) {
  const coracle::semaphore::guard held = co_await connections.acquire_guard();  // until `held` ends
  const int now = ++used.now;
  int before = used.at_most;
  while (before < now && !used.at_most.compare_exchange_weak(before, now)) {
  }
  co_await coracle::sleep_for(1ms);
  --used.now;
}

coracle::task<> try_it(coracle::semaphore& connections) {
  coracle::semaphore::guard two = co_await connections.acquire_guard(2);
  check(!connections.try_acquire(2), "only one permit is left");
  two.release();
  const coracle::semaphore::guard all = connections.try_acquire_guard(3);
  check(static_cast<bool>(all), "permits that were released can be taken again");
}

int main() {
  coracle::runtime rt(2);
  coracle::semaphore connections(3, rt.at(0));
  usage used;
  for (int i = 0; i < 20; ++i) rt.spawn(use_a_connection(connections, used));  // on both threads
  rt.run();
  check(used.at_most <= 3 && used.at_most > 0, "no more than three tasks held a permit");
  check(used.now == 0, "all tasks had their turn");
  coracle::sync_wait(rt, rt.at(0), try_it(connections));
}
