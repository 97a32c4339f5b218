// name_answer: what the name of a host stands for, in a backend whose world has names of its own.
#pragma once

#include "runtime/backend.hpp"

#include <vector>

namespace coracle::runtime_internal {

struct name_answer {
  enum class outcome : std::uint8_t { found, no_such_name, failed };
  outcome what = outcome::no_such_name;
  duration after{};                    // how long it takes to come
  std::vector<raw_address> addresses;  // in the order to try them in, with port 0
};

}  // namespace coracle::runtime_internal
