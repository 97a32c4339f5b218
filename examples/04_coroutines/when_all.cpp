// Several tasks at once, by kind or by number, with and without their errors: when_all, when_all_settled, when_any.
#include "check.hpp"

#include "coracle/runtime.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

coracle::task<int> square(int n) {
  co_await coracle::sleep_for(1ms);
  co_return n* n;
}
coracle::task<std::string> name() { co_return "coracle"; }
coracle::task<int> fail() {
  co_await coracle::sleep_for(1ms);
  throw std::runtime_error("no luck");
}

coracle::task<> several() {
  // Different types, a value each.
  const auto [nine, text] = co_await coracle::when_all(square(3), name());
  check(nine == 9 && text == "coracle", "when_all gives the values in the order of its tasks");

  // Many of one type.
  std::vector<coracle::task<int>> squares;
  for (int i = 0; i < 10; ++i) squares.push_back(square(i));
  const std::vector<int> values = co_await coracle::when_all(std::move(squares));
  check(values.size() == 10 && values[9] == 81, "so it does over a range");

  // An error comes out when all have ended ...
  bool thrown = false;
  try {
    co_await coracle::when_all(square(1), fail());
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  check(thrown, "an exception of a task is not lost");
  // ... or each stays with its task.
  auto ends = co_await coracle::when_all_settled(square(2), fail());
  check(std::get<0>(ends).ok() && !std::get<1>(ends).ok(), "when_all_settled keeps values and errors");

  // The first one only: the other is stopped and waited for.
  const auto slow = [](std::chrono::hours h) -> coracle::task<int> {
    co_await coracle::sleep_for(h);
    co_return 0;
  };
  auto first = co_await coracle::when_any(slow(1h), square(4));
  check(first.index() == 1 && first.get<1>() == 16, "when_any gives the first to end");
}

int main() {
  coracle::runtime rt;
  coracle::sync_wait(rt, several());
}
