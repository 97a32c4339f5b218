// policy_outline: the balancing policies of a channel as operators see them.
#pragma once

#include <string>
#include <vector>

namespace coracle::rpc {

// A policy, or a part of one that has a name, and what is below it.
struct policy_outline {
  std::string name;
  std::string detail{};  // for people
  std::vector<policy_outline> children{};
};

}  // namespace coracle::rpc
