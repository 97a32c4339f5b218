// How these programs judge themselves: one line that says what was expected, and the exit code.
#pragma once

#include <cstdlib>
#include <iostream>

inline void check(bool holds, const char* expectation) {
  std::cout << (holds ? "as expected: " : "NOT as expected: ") << expectation << "\n";
  if (!holds) std::exit(1);
}
