// What the tests of all exercises share.
#pragma once

#include <coroutine>
#include <cstdlib>
#include <exception>
#include <iostream>

namespace lab {

// Prints one line; ends the program with exit code 1 if the expectation does not hold.
inline void expect(bool holds, const char* expectation) {
  std::cout << (holds ? "ok:     " : "FAILED: ") << expectation << std::endl;
  if (!holds) std::exit(1);
}

// Runs the test of an exercise. An exception that leaves it is a failure.
template <class Test>
int run_test(Test test) {
  try {
    test();
  } catch (const std::exception& e) {
    std::cout << "FAILED: an exception: " << e.what() << std::endl;
    return 1;
  }
  std::cout << "The exercise is solved." << std::endl;
  return 0;
}

// A coroutine that begins at once and that no code waits for. Its frame ends with it.
struct detached {
  struct promise_type {
    detached get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
};

}  // namespace lab
