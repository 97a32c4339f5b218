// Waiting for a condition over data that a mutex guards: condition_variable, with and without a predicate.
#include "check.hpp"

#include "coracle/runtime.hpp"

#include <chrono>
#include <deque>

using namespace std::chrono_literals;

struct kitchen {
  explicit kitchen(coracle::loop& owner_loop) : m(owner_loop), changed(owner_loop) {}
  coracle::mutex m;
  coracle::condition_variable changed;
  std::deque<int> plates;
  bool closed = false;
};

coracle::task<> cook(kitchen& k) {
  for (int plate = 1; plate <= 10; ++plate) {
    co_await coracle::sleep_for(200us);
    const coracle::mutex::guard held = co_await k.m.lock();
    k.plates.push_back(plate);
    k.changed.notify_one();
  }
  const coracle::mutex::guard held = co_await k.m.lock();
  k.closed = true;
  k.changed.notify_all();
}

coracle::task<> serve(kitchen& k, int& served) {
  coracle::mutex::guard held = co_await k.m.lock();
  const auto something = [&k] { return !k.plates.empty() || k.closed; };
  for (;;) {
    co_await k.changed.wait(held, something);
    if (k.plates.empty()) co_return;
    served += k.plates.front();
    k.plates.pop_front();
  }
}

coracle::task<> lights_out(kitchen& k, bool& dark) {
  coracle::mutex::guard held = co_await k.m.lock();
  while (!k.closed) co_await k.changed.wait(held);  // by hand: it may wake for other reasons
  dark = true;
}

int main() {
  coracle::runtime rt;
  kitchen k(rt.at(0));
  int served = 0;
  bool dark = false;
  rt.spawn(serve(k, served));
  rt.spawn(lights_out(k, dark));
  rt.spawn(serve(k, served));
  rt.spawn(cook(k));
  rt.run();
  check(served == 55, "every plate was served once");
  check(dark, "closing woke everybody");
}
