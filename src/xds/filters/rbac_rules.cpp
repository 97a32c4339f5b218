#include "xds/filters/rbac_rules.hpp"

#include "base/printable.hpp"
#include "server/authorization/audit_loggers.hpp"
#include "xds/limits.hpp"
#include "xds/resource/matchers.hpp"
#include "xds/resource/wire_values.hpp"
#include "xds/wire/rbac.pb.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace coracle::xds {

namespace {

using server_internal::call_facts;
using server_internal::condition;
using server_internal::condition_ptr;
using server_internal::text_condition;
using server_internal::text_condition_ptr;

class text_is final : public text_condition {
 public:
  explicit text_is(text_matcher of) : of_(std::move(of)) {}
  [[nodiscard]] bool matches(std::string_view text) const override { return of_.matches(text); }

 private:
  const text_matcher of_;
};

class header_is final : public condition {
 public:
  explicit header_is(header_matcher of) : of_(std::move(of)) {}
  [[nodiscard]] bool matches(const call_facts& call) const override {
    std::string joined;
    return of_.matches_value(call.header(of_.name, joined));
  }

 private:
  const header_matcher of_;
};

class rules_reader {
 public:
  explicit rules_reader(matcher_reader& matchers) noexcept : matchers_(matchers) {}

  template <class List>
  condition_ptr permissions(const List& from, const field_path& at, std::string_view list, bool all = false) {
    std::vector<condition_ptr> to;
    for (int i = 0; i < from.size(); ++i)
      to.push_back(permission(from.at(i), at.at(list, static_cast<std::size_t>(i))));
    return all ? server_internal::all_of(std::move(to)) : server_internal::any_of(std::move(to));
  }
  template <class List>
  condition_ptr principals(const List& from, const field_path& at, std::string_view list, bool all = false) {
    std::vector<condition_ptr> to;
    for (int i = 0; i < from.size(); ++i)
      to.push_back(principal(from.at(i), at.at(list, static_cast<std::size_t>(i))));
    return all ? server_internal::all_of(std::move(to)) : server_internal::any_of(std::move(to));
  }

 private:
  // Counts what is read, and how deep it lies.
  class level {
   public:
    level(rules_reader& of, const field_path& at) : of_(of) {
      of.matchers_.count_condition(at);
      if (of.depth_ == limits::rbac_depth_max)
        at.refuse("is nested deeper than " + std::to_string(limits::rbac_depth_max));
      ++of.depth_;
    }
    level(const level&) = delete;
    level& operator=(const level&) = delete;
    ~level() { --of_.depth_; }

   private:
    rules_reader& of_;
  };

  condition_ptr permission(const wire::Permission& from, const field_path& at) {
    const level here(*this, at);
    switch (from.rule_case()) {
      case wire::Permission::kAndRules:
        return permissions(from.and_rules().rules(), at.at("and_rules"), "rules", true);
      case wire::Permission::kOrRules:
        return permissions(from.or_rules().rules(), at.at("or_rules"), "rules");
      case wire::Permission::kNotRule:
        return server_internal::negated(permission(from.not_rule(), at.at("not_rule")));
      case wire::Permission::kAny: return server_internal::always(true);
      case wire::Permission::kHeader: return header(from.header(), at.at("header"));
      case wire::Permission::kUrlPath: return path(from.url_path(), at.at("url_path"));
      case wire::Permission::kDestinationIp:
        return server_internal::local_is_in(range_of(from.destination_ip(), at.at("destination_ip")));
      case wire::Permission::kDestinationPort: return server_internal::local_port_is(from.destination_port());
      // What gRPC has none of: it matches as one that is absent, or empty.
      case wire::Permission::kMetadata: return server_internal::always(from.metadata().invert());
      case wire::Permission::kRequestedServerName:
        return server_internal::always(
            matchers_.text(from.requested_server_name(), at.at("requested_server_name")).matches(""));
      default: at.refuse("has a rule that is not supported");
    }
  }

  condition_ptr principal(const wire::Principal& from, const field_path& at) {
    const level here(*this, at);
    switch (from.identifier_case()) {
      case wire::Principal::kAndIds: return principals(from.and_ids().ids(), at.at("and_ids"), "ids", true);
      case wire::Principal::kOrIds: return principals(from.or_ids().ids(), at.at("or_ids"), "ids");
      case wire::Principal::kNotId:
        return server_internal::negated(principal(from.not_id(), at.at("not_id")));
      case wire::Principal::kAny: return server_internal::always(true);
      case wire::Principal::kAuthenticated:
        return authenticated(from.authenticated(), at.at("authenticated"));
      // gRPC knows of no proxy on the way: these three are the same.
      case wire::Principal::kSourceIp: return peer(from.source_ip(), at.at("source_ip"));
      case wire::Principal::kDirectRemoteIp: return peer(from.direct_remote_ip(), at.at("direct_remote_ip"));
      case wire::Principal::kRemoteIp: return peer(from.remote_ip(), at.at("remote_ip"));
      case wire::Principal::kHeader: return header(from.header(), at.at("header"));
      case wire::Principal::kUrlPath: return path(from.url_path(), at.at("url_path"));
      case wire::Principal::kMetadata: return server_internal::always(from.metadata().invert());
      default: at.refuse("has an identifier that is not supported");
    }
  }

  text_condition_ptr text(const wire::StringMatcher& from, const field_path& at) {
    return std::make_unique<const text_is>(matchers_.text(from, at));
  }
  condition_ptr path(const wire::PathMatcher& from, const field_path& at) {
    return server_internal::path_matches(text(from.path(), at.at("path")));
  }
  static condition_ptr peer(const wire::CidrRange& from, const field_path& at) {
    return server_internal::peer_is_in(range_of(from, at));
  }
  condition_ptr authenticated(const wire::Authenticated& from, const field_path& at) {
    if (!from.has_principal_name()) return server_internal::is_authenticated({});
    return server_internal::is_authenticated(text(from.principal_name(), at.at("principal_name")));
  }
  condition_ptr header(const wire::HeaderMatcher& from, const field_path& at) {
    header_matcher of = matchers_.header(from, at);
    if (of.name == ":scheme" || of.name.starts_with("grpc-"))
      at.refuse("names a header that rules cannot match: " + base::printable(of.name));
    return std::make_unique<const header_is>(std::move(of));
  }

  matcher_reader& matchers_;
  std::size_t depth_ = 0;
};

void add_logger(const wire::AuditLoggerConfig& from, server_internal::rule_set& to, const field_path& at) {
  if (!from.audit_logger().has_typed_config()) at.refuse("has no typed_config");
  const google::protobuf::Any& typed = from.audit_logger().typed_config();
  std::string name(type_of(typed));
  std::string config = "{}";
  bool known = true;
  if (name == "envoy.extensions.rbac.audit_loggers.stream.v3.StdoutAuditLog") {
    name = server_internal::stdout_logger_name;
  } else if (is_typed_struct(name)) {
    const auto of_program = unpacked<wire::TypedStruct>(typed, at.at("audit_logger.typed_config"));
    name = of_program.type_url().substr(of_program.type_url().rfind('/') + 1);
    config = json_of(of_program.value());
  } else {
    known = false;
  }
  if (known) {
    auto made = server_internal::make_audit_logger(name, config);
    if (!made) at.refuse("is invalid: " + std::string(made.status().message()));
    if (*made) return to.loggers.push_back(*std::move(made));
  }
  if (!from.is_optional())
    at.refuse("names an audit logger that is not registered: " + base::printable(name));
}

void read_audit(const wire::AuditLoggingOptions& from, server_internal::rule_set& to, const field_path& at) {
  using server_internal::audit_condition;
  switch (from.audit_condition()) {
    case 0: to.audited = audit_condition::none; break;
    case 1: to.audited = audit_condition::on_deny; break;
    case 2: to.audited = audit_condition::on_allow; break;
    case 3: to.audited = audit_condition::on_deny_and_allow; break;
    default: at.at("audit_condition").refuse("is unknown: " + std::to_string(from.audit_condition()));
  }
  if (static_cast<std::size_t>(from.logger_configs_size()) > limits::audit_loggers_max)
    at.at("logger_configs").refuse("exceeds " + std::to_string(limits::audit_loggers_max) + " loggers");
  for (int i = 0; i < from.logger_configs_size(); ++i)
    add_logger(from.logger_configs(i), to, at.at("logger_configs", static_cast<std::size_t>(i)));
}

}  // namespace

std::optional<server_internal::rule_set> read_rbac(const wire::Rbac& from, std::string_view filter,
                                                   matcher_reader& matchers, const field_path& at) {
  server_internal::rule_set to;
  to.policy = filter;
  switch (from.action()) {
    case 0: to.action = server_internal::rule_action::allow; break;
    case 1: to.action = server_internal::rule_action::deny; break;
    case 2: return std::nullopt;
    default: at.at("action").refuse("is unknown: " + std::to_string(from.action()));
  }
  rules_reader reader(matchers);
  std::map<std::string_view, const wire::RbacPolicy*> in_order;
  for (const auto& [name, policy] : from.policies()) in_order.emplace(name, &policy);
  for (const auto& [name, policy] : in_order) {
    const field_path here = at.at("policies", name);
    if (policy->has_condition()) here.at("condition").refuse("is not supported");
    if (policy->has_checked_condition()) here.at("checked_condition").refuse("is not supported");
    auto permission = reader.permissions(policy->permissions(), here, "permissions");
    auto principal = reader.principals(policy->principals(), here, "principals");
    to.rules.push_back({std::string(name), std::move(permission), std::move(principal)});
  }
  if (from.has_audit_logging_options())
    read_audit(from.audit_logging_options(), to, at.at("audit_logging_options"));
  return to;
}

}  // namespace coracle::xds
