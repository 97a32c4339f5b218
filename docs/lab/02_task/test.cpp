#include "task.hpp"

#include "../lab.hpp"

#include <memory>
#include <stdexcept>
#include <string>

using lab::expect;

// Counts the frames that are alive: each has one of these as a parameter.
class counted {
 public:
  explicit counted(int& alive) noexcept : alive_(&alive) { ++*alive_; }
  counted(const counted& other) noexcept : alive_(other.alive_) { ++*alive_; }
  counted& operator=(const counted&) = delete;
  ~counted() { --*alive_; }

 private:
  int* alive_;
};

lab::task<int> add(int a, int b, bool& began, counted) {
  began = true;
  co_return a + b;
}
lab::task<std::unique_ptr<int>> make(int value) { co_return std::make_unique<int>(value); }
lab::task<> fail() {
  throw std::runtime_error("failed");
  co_return;
}
lab::task<int> sum_up_to(int n) {
  if (n == 0) co_return 0;
  const int below = co_await sum_up_to(n - 1);
  co_return below + n;
}

lab::detached run(lab::task<> t, bool& ended) {
  co_await std::move(t);
  ended = true;
}

lab::task<> all() {
  int alive = 0;
  bool began = false;
  {
    lab::task<int> sum = add(1, 2, began, counted(alive));
    expect(!began, "a task does not begin before it is awaited");
    const int value = co_await std::move(sum);
    expect(began && value == 3, "co_await returns the value of the task");
    expect(alive == 1, "the frame stays while its task lives");
  }
  expect(alive == 0, "the frame ends with its task");
  {
    const lab::task<int> never_awaited = add(1, 2, began, counted(alive));
  }
  expect(alive == 0, "the frame of a task that was not awaited ends, too");
  const std::unique_ptr<int> made = co_await make(42);
  expect(*made == 42, "a value that can only be moved arrives");
  std::string caught;
  try {
    co_await fail();
  } catch (const std::runtime_error& e) {
    caught = e.what();
  }
  expect(caught == "failed", "an exception of the task is thrown by co_await");
  const int deep = co_await sum_up_to(1000);
  expect(deep == 500'500, "tasks await tasks");
}

void test() {
  bool ended = false;
  run(all(), ended);
  expect(ended, "the awaiter continues when the task has ended");
}

int main() { return lab::run_test(test); }
