// rule_set: rules that admit or reject calls, and what is recorded of that: the engine of authorization
// policies and of the RBAC filter (gRFCs A41 and A59).
#pragma once

#include "coracle/server/audit_logger.hpp"
#include "server/authorization/condition.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::server_internal {

struct authorization_rule {
  std::string name;
  condition_ptr permission;  // of what is done
  condition_ptr principal;  // of who does it
};

enum class rule_action : unsigned char {
  allow,  // calls that match a rule
  deny,  // calls that match a rule
};

// Of which decisions audit loggers hear.
enum class audit_condition : unsigned char { none, on_deny, on_allow, on_deny_and_allow };

struct authorization_decision {
  bool authorized;
  const authorization_rule* rule;  // the one that matched first, or null
};

// Any thread may use it; it does not change.
struct rule_set {
  std::string policy;  // whose rules they are, for audit loggers
  rule_action action = rule_action::allow;
  std::vector<authorization_rule> rules;
  audit_condition audited = audit_condition::none;
  std::vector<std::shared_ptr<audit_logger>> loggers;

  // Tells the loggers, too. A rule matches if its permission and its principal do.
  [[nodiscard]] authorization_decision decide(const call_facts& call) const;
};

}  // namespace coracle::server_internal
