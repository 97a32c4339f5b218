#include "server/authorization/rule_set.hpp"

#include <algorithm>

namespace coracle::server_internal {

namespace {

bool is_audited(audit_condition when, bool authorized) noexcept {
  return when == audit_condition::on_deny_and_allow ||
         when == (authorized ? audit_condition::on_allow : audit_condition::on_deny);
}

}  // namespace

authorization_decision rule_set::decide(const call_facts& call) const {
  const auto found = std::ranges::find_if(rules, [&](const authorization_rule& r) {
    return r.permission->matches(call) && r.principal->matches(call);
  });
  const authorization_rule* const rule = found == rules.end() ? nullptr : &*found;
  const bool authorized = (rule != nullptr) == (action == rule_action::allow);
  if (!loggers.empty() && is_audited(audited, authorized)) {
    const audit_event event{call.path, call.spiffe_id(), policy,
                            rule ? std::string_view(rule->name) : std::string_view(), authorized};
    for (const auto& logger : loggers) logger->log(event);
  }
  return {authorized, rule};
}

}  // namespace coracle::server_internal
