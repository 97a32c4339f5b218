// One task produces a value, two others wait for it: event<T>. A third waits for a bare event<>.
#include "check.hpp"

#include "coracle/runtime.hpp"

#include <chrono>

using namespace std::chrono_literals;

coracle::task<> measure(coracle::event<int>& temperature, coracle::event<>& done) {
  const coracle::event<>::guard opens(done);  // on every path out of here
  co_await coracle::sleep_for(5ms);
  temperature.set(21);
}

coracle::task<> show(coracle::event<int>& temperature, int& sum) { sum += co_await temperature; }

coracle::task<> watch(coracle::event<>& done, bool& seen) {
  co_await done;
  seen = true;
}

int main() {
  coracle::runtime rt(2);
  coracle::event<int> temperature(rt.at(0));  // lives on loop 0; waited for and set from anywhere
  coracle::event<> done(rt.at(0));
  int sum = 0;
  bool seen = false;
  rt.spawn_on(rt.at(0), show(temperature, sum));
  rt.spawn_on(rt.at(0), show(temperature, sum));
  rt.spawn_on(rt.at(0), watch(done, seen));
  rt.spawn_on(rt.at(1), measure(temperature, done));  // another thread
  rt.run();
  check(sum == 42, "both tasks got the value");
  check(seen, "the event opened when its setter ended");
}
