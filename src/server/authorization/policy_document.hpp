// policy_document: reads an authorization policy (gRFCs A43 and A59).
#pragma once

#include "coracle/base/result.hpp"
#include "server/authorization/rule_set.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::server_internal {

// A document. Real ones have a few kilobytes.
inline constexpr std::size_t policy_bytes_max = 1024 * 1024;
// Of the deny rules, and as many allow rules.
inline constexpr std::size_t policy_rules_max = 1000;
// Principals, paths and values of headers of all rules: a call that no rule matches is compared with each of
// them.
inline constexpr std::size_t policy_patterns_max = 10'000;
inline constexpr std::size_t policy_loggers_max = 16;

struct policy_rules {
  std::string name;
  std::optional<rule_set> denied;
  rule_set allowed;
};

// Fails with INVALID_ARGUMENT and the place of what is wrong, or as the factory of an audit logger does.
[[nodiscard]] result<policy_rules> parse_policy(std::string_view json);

}  // namespace coracle::server_internal
