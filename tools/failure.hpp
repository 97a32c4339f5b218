// What ends a command: the text says what was wrong and what to do.
#pragma once

#include <stdexcept>

namespace coracle::tools {

// 1 to 16 are the status codes of calls.
inline constexpr int exit_usage = 64;
inline constexpr int exit_failure = 65;

class failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Of a command line that is well formed and cannot be meant.
class usage_failure : public failure {
 public:
  using failure::failure;
};

}  // namespace coracle::tools
