// Sequences made by coroutines: generator for plain loops, async_generator for bodies that wait.
#include "check.hpp"

#include "coracle/runtime.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

using namespace std::chrono_literals;

coracle::generator<std::string_view> words(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    co_yield text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

coracle::generator<int> squares() {  // endless: only what the loop asks for is computed
  for (int i = 1;; ++i) co_yield i* i;
}

coracle::async_generator<int> readings(int count) {
  for (int i = 0; i < count; ++i) {
    co_await coracle::sleep_for(1ms);
    co_yield 20 + i;
  }
}

coracle::task<> read_all() {
  coracle::async_generator<int> sensor = readings(3);
  int sum = 0;
  while (const std::optional<int> reading = co_await sensor.next()) sum += *reading;
  check(sum == 63, "the values came in between waits, and then the end");
}

int main() {
  std::string joined;
  for (const std::string_view word : words("a sequence of words")) joined += word;
  check(joined == "asequenceofwords", "a generator yields to a plain loop");
  int sum = 0;
  for (const int square : squares()) {
    if (square > 30) break;  // the generator is destroyed, and its body unwound
    sum += square;
  }
  check(sum == 1 + 4 + 9 + 16 + 25, "an endless generator is left with break");
  coracle::runtime rt;
  coracle::sync_wait(rt, read_all());
}
