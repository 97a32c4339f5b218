// The latest state of a value, for each task that follows it: watch.
#include "check.hpp"

#include "coracle/runtime.hpp"

#include <chrono>
#include <optional>

using namespace std::chrono_literals;

class limits {
 public:
  explicit limits(int most) noexcept : connections_max(most) {}
  int connections_max;
};

coracle::task<> follow(coracle::watch<limits>& current, int& in_effect, bool& saw_the_first) {
  coracle::watch<limits>::observer mine(current);
  while (const std::optional<limits> latest = co_await mine.changed()) {  // the present value first
    saw_the_first = saw_the_first || latest->connections_max == 10;
    in_effect = latest->connections_max;
  }
}

coracle::task<> reconfigure(coracle::watch<limits>& current) {
  co_await coracle::sleep_for(5ms);
  for (int most = 11; most <= 100; ++most) current.set(limits(most));  // an observer may skip some of these
  current.close();
}

int main() {
  coracle::runtime rt(2);
  coracle::watch<limits> current(limits(10), rt.at(0));
  int in_effect[2] = {};
  bool saw_the_first[2] = {};
  for (std::size_t i = 0; i < 2; ++i) rt.spawn_on(rt.at(i), follow(current, in_effect[i], saw_the_first[i]));
  rt.spawn_on(rt.at(1), reconfigure(current));
  rt.run();
  check(saw_the_first[0] && saw_the_first[1], "each observer began with the present value");
  check(in_effect[0] == 100 && in_effect[1] == 100, "each observer ended with the latest value");
}
