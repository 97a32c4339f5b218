// name_answer: the result of a name lookup in a backend whose world has names of its own.
#pragma once

#include "runtime/backend.hpp"

#include <vector>

namespace coracle::runtime_internal {

struct name_answer {
  enum class outcome : std::uint8_t { found, no_such_name, failed };
  outcome what = outcome::no_such_name;
  duration after{};                    // how long the answer takes to arrive
  std::vector<raw_address> addresses;  // in the order in which to try them, with port 0
};

}  // namespace coracle::runtime_internal
