// The RBAC filter: each permission and principal, what is refused, and overrides (gRFCs A41 and A59).
#include "xds/filters/rbac_rules.hpp"

#include "coracle/server/audit_logger.hpp"
#include "unit/server/authorization/call_of_test.hpp"
#include "unit/xds/inbound_builders.hpp"
#include "xds/filters/filter.hpp"
#include "xds/resource/http_filters.hpp"
#include "xds/resource/matchers.hpp"
#include "xds/wire/rbac.pb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace coracle::xds::rbac_test {
namespace {

using namespace testing_resources;
using server_internal::call_of_test;
using testing::ElementsAre;
using testing::HasSubstr;

using edit_permission = std::function<void(wire::Permission&)>;
using edit_principal = std::function<void(wire::Principal&)>;

wire::Rbac rules_of(const edit_permission& permission, const edit_principal& principal = {}) {
  wire::Rbac rbac;
  wire::RbacPolicy& policy = (*rbac.mutable_policies())["policy"];
  if (permission) permission(*policy.add_permissions());
  else policy.add_permissions()->set_any(true);
  if (principal) principal(*policy.add_principals());
  else policy.add_principals()->set_any(true);
  return rbac;
}

std::optional<server_internal::rule_set> read(const wire::Rbac& rbac) {
  regex_allowance regexes{limits::regexes_max};
  matcher_reader matchers(regexes);
  return read_rbac(rbac, "filter", matchers, field_path());
}
bool admits(const wire::Rbac& rbac, const call_of_test& call) {
  const auto rules = read(rbac);
  EXPECT_TRUE(rules.has_value());
  return rules->decide(call.facts()).authorized;
}
bool fits(const edit_permission& permission, const call_of_test& call = {}) {
  return admits(rules_of(permission), call);
}
bool is_from(const edit_principal& principal, const call_of_test& call = {}) {
  return admits(rules_of({}, principal), call);
}
std::string problem(const wire::Rbac& rbac) {
  try {
    (void)read(rbac);
  } catch (const invalid_resource& invalid) {
    return invalid.text;
  }
  return "valid";
}
std::string problem_of(const edit_permission& permission) { return problem(rules_of(permission)); }
std::string problem_from(const edit_principal& principal) { return problem(rules_of({}, principal)); }

void set_range(wire::CidrRange& to, const std::string& address, std::uint32_t bits) {
  to.set_address_prefix(address);
  to.mutable_prefix_len()->set_value(bits);
}

TEST(Rbac, PermissionsCombine) {
  const auto two = [](bool all, bool second) {
    return [all, second](wire::Permission& p) {
      wire::Permissions& set = all ? *p.mutable_and_rules() : *p.mutable_or_rules();
      set.add_rules()->set_any(true);
      if (second) set.add_rules()->set_any(true);
      else set.add_rules()->mutable_not_rule()->set_any(true);
    };
  };
  EXPECT_TRUE(fits(two(true, true)));
  EXPECT_FALSE(fits(two(true, false)));
  EXPECT_TRUE(fits(two(false, false)));
  EXPECT_FALSE(fits([](wire::Permission& p) { p.mutable_or_rules(); }));
  EXPECT_FALSE(fits([](wire::Permission& p) { p.mutable_not_rule()->set_any(true); }));
}

TEST(Rbac, PermissionsLookAtTheCallAndItsConnection) {
  EXPECT_TRUE(fits([](wire::Permission& p) { p.mutable_url_path()->mutable_path()->set_prefix("/a.A/"); }));
  EXPECT_FALSE(fits([](wire::Permission& p) { p.mutable_url_path()->mutable_path()->set_exact("/a.A/"); }));
  EXPECT_TRUE(fits([](wire::Permission& p) {
    p.mutable_url_path()->mutable_path()->mutable_safe_regex()->set_regex("/a[.]A/[A-Z]all");
  }));
  EXPECT_TRUE(fits([](wire::Permission& p) { set_range(*p.mutable_destination_ip(), "10.9.0.0", 16); }));
  EXPECT_FALSE(fits([](wire::Permission& p) { set_range(*p.mutable_destination_ip(), "10.1.0.0", 16); }));
  EXPECT_TRUE(fits([](wire::Permission& p) { p.set_destination_port(443); }));
  EXPECT_FALSE(fits([](wire::Permission& p) { p.set_destination_port(7); }));
}

TEST(Rbac, WhatGrpcHasNoneOfMatchesAsIfItWereEmpty) {
  EXPECT_FALSE(fits([](wire::Permission& p) { p.mutable_metadata(); }));
  EXPECT_TRUE(fits([](wire::Permission& p) { p.mutable_metadata()->set_invert(true); }));
  EXPECT_FALSE(is_from([](wire::Principal& p) { p.mutable_metadata(); }));
  EXPECT_TRUE(is_from([](wire::Principal& p) { p.mutable_metadata()->set_invert(true); }));
  // They count in the rules around them.
  EXPECT_TRUE(fits([](wire::Permission& p) { p.mutable_not_rule()->mutable_metadata(); }));
  EXPECT_FALSE(is_from([](wire::Principal& p) {
    p.mutable_and_ids()->add_ids()->set_any(true);
    p.mutable_and_ids()->add_ids()->mutable_metadata();
  }));
  EXPECT_TRUE(fits([](wire::Permission& p) { p.mutable_requested_server_name()->set_exact(""); }));
  EXPECT_FALSE(fits([](wire::Permission& p) { p.mutable_requested_server_name()->set_prefix("a"); }));
}

TEST(Rbac, HeadersIncludeThoseOfHttp2) {
  const auto with = [](const char* name, const char* value) {
    return [name, value](auto& p) {
      p.mutable_header()->set_name(name);
      p.mutable_header()->mutable_string_match()->set_exact(value);
    };
  };
  EXPECT_TRUE(fits(with(":method", "POST")));
  EXPECT_FALSE(fits(with(":method", "GET")));
  EXPECT_TRUE(fits(with(":path", "/a.A/Call")));
  EXPECT_TRUE(fits(with(":authority", "host.org:1")));
  EXPECT_TRUE(fits(with("Host", "host.org:1")));
  call_of_test call;
  call.headers.add("x", "1");
  EXPECT_TRUE(fits(with("X", "1"), call));
  EXPECT_FALSE(fits(with("X", "2"), call));
  EXPECT_TRUE(is_from(with("x", "1"), call));
  call.headers.add("x", "2");
  EXPECT_TRUE(fits(with("x", "1,2"), call));
  EXPECT_FALSE(fits(with("te", "trailers"), call));
  call.headers.add("x-bin", "a");
  EXPECT_TRUE(fits(with("x-bin", "YQ"), call));
}

TEST(Rbac, AnAbsentHeaderFulfilsAConditionOfItsPresenceAlone) {
  const auto absent = [](bool invert) {
    return [invert](wire::Permission& p) {
      p.mutable_header()->set_name("x");
      p.mutable_header()->set_present_match(true);
      p.mutable_header()->set_invert_match(invert);
    };
  };
  EXPECT_FALSE(fits(absent(false)));
  EXPECT_TRUE(fits(absent(true)));
}

TEST(Rbac, PrincipalsCombine) {
  EXPECT_TRUE(is_from([](wire::Principal& p) { p.mutable_and_ids()->add_ids()->set_any(true); }));
  EXPECT_FALSE(is_from([](wire::Principal& p) {
    p.mutable_and_ids()->add_ids()->set_any(true);
    p.mutable_and_ids()->add_ids()->mutable_not_id()->set_any(true);
  }));
  EXPECT_TRUE(is_from([](wire::Principal& p) {
    p.mutable_or_ids()->add_ids()->mutable_not_id()->set_any(true);
    p.mutable_or_ids()->add_ids()->set_any(true);
  }));
}

TEST(Rbac, AllThreeAddressesAreThatOfThePeer) {
  for (const auto& range : std::vector<std::function<wire::CidrRange*(wire::Principal&)>>{
           [](wire::Principal& p) { return p.mutable_source_ip(); },
           [](wire::Principal& p) { return p.mutable_direct_remote_ip(); },
           [](wire::Principal& p) { return p.mutable_remote_ip(); }}) {
    EXPECT_TRUE(is_from([&](wire::Principal& p) { set_range(*range(p), "10.1.0.0", 16); }));
    EXPECT_FALSE(is_from([&](wire::Principal& p) { set_range(*range(p), "10.9.0.0", 16); }));
  }
}

TEST(Rbac, PrincipalsLookAtThePathAndTheCertificate) {
  EXPECT_TRUE(is_from([](wire::Principal& p) { p.mutable_url_path()->mutable_path()->set_suffix("Call"); }));
  call_of_test call;
  EXPECT_FALSE(is_from([](wire::Principal& p) { p.mutable_authenticated(); }, call));
  call.use_tls();
  EXPECT_TRUE(is_from([](wire::Principal& p) { p.mutable_authenticated(); }, call));
  const auto named = [](wire::Principal& p) {
    p.mutable_authenticated()->mutable_principal_name()->set_prefix("spiffe://a/");
  };
  EXPECT_FALSE(is_from(named, call));
  call.auth->peer_verified(true).identities({{peer_identity::kind::uri, "spiffe://a/b"}});
  EXPECT_TRUE(is_from(named, call));
}

TEST(Rbac, APolicyNeedsAPermissionAndAPrincipal) {
  wire::Rbac rbac = rules_of({});
  EXPECT_TRUE(admits(rbac, {}));
  rbac.mutable_policies()->at("policy").clear_principals();
  EXPECT_FALSE(admits(rbac, {}));
  EXPECT_FALSE(admits(wire::Rbac(), {}));
}

TEST(Rbac, ADenyingFilterAdmitsWhatMatchesNoPolicy) {
  wire::Rbac rbac = rules_of({});
  rbac.set_action(1);
  EXPECT_FALSE(admits(rbac, {}));
  rbac.clear_policies();
  EXPECT_TRUE(admits(rbac, {}));
}

TEST(Rbac, TheFirstPolicyByNameIsTheOneThatMatches) {
  wire::Rbac rbac = rules_of({});
  for (const char* name : {"z", "a", "m"}) (*rbac.mutable_policies())[name] = rbac.policies().at("policy");
  const auto rules = read(rbac);
  EXPECT_EQ(rules->decide(call_of_test().facts()).rule->name, "a");
}

TEST(Rbac, RulesThatAreOnlyLoggedDoNothing) {
  wire::Rbac rbac = rules_of({});
  rbac.set_action(2);
  EXPECT_FALSE(read(rbac).has_value());
}

TEST(Rbac, WhatIsNotSupportedIsRefused) {
  wire::Rbac rbac = rules_of({});
  rbac.set_action(3);
  EXPECT_EQ(problem(rbac), "action is unknown: 3");
  rbac = rules_of({});
  rbac.mutable_policies()->at("policy").mutable_condition();
  EXPECT_EQ(problem(rbac), "policies[\"policy\"].condition is not supported");
  rbac = rules_of({});
  rbac.mutable_policies()->at("policy").mutable_checked_condition();
  EXPECT_EQ(problem(rbac), "policies[\"policy\"].checked_condition is not supported");
  EXPECT_EQ(problem_of([](wire::Permission&) {}),
            "policies[\"policy\"].permissions[0] has a rule that is not supported");
  EXPECT_THAT(problem_of([](wire::Permission& p) { p.mutable_destination_port_range(); }),
              HasSubstr("not supported"));
  EXPECT_THAT(problem_of([](wire::Permission& p) { p.mutable_matcher(); }), HasSubstr("not supported"));
  EXPECT_EQ(problem_from([](wire::Principal&) {}),
            "policies[\"policy\"].principals[0] has an identifier that is not supported");
  EXPECT_THAT(problem_from([](wire::Principal& p) { p.mutable_custom(); }), HasSubstr("not supported"));
  EXPECT_THAT(problem_from([](wire::Principal& p) { p.mutable_filter_state(); }), HasSubstr("not supported"));
  EXPECT_THAT(problem_of([](wire::Permission& p) { p.mutable_sourced_metadata(); }),
              HasSubstr("not supported"));
  EXPECT_THAT(problem_from([](wire::Principal& p) { p.mutable_sourced_metadata(); }),
              HasSubstr("not supported"));
}

TEST(Rbac, InvalidMatchersAreRefusedWithTheirPlace) {
  EXPECT_EQ(problem_of([](wire::Permission& p) { p.mutable_url_path(); }),
            "policies[\"policy\"].permissions[0].url_path.path has no string matcher that is supported");
  EXPECT_THAT(
      problem_of([](wire::Permission& p) {
        p.mutable_and_rules()->add_rules()->mutable_not_rule()->mutable_header()->set_name("x");
      }),
      HasSubstr("permissions[0].and_rules.rules[0].not_rule.header has an unrecognized header matcher"));
  for (const char* name : {":scheme", "grpc-timeout", "Grpc-X"}) {
    const auto header = [name](auto& p) {
      p.mutable_header()->set_name(name);
      p.mutable_header()->set_present_match(true);
    };
    EXPECT_THAT(problem_of(header),
                HasSubstr("permissions[0].header names a header that rules cannot match"));
    EXPECT_THAT(problem_from(header),
                HasSubstr("principals[0].header names a header that rules cannot match"));
  }
  EXPECT_THAT(problem_of([](wire::Permission& p) { set_range(*p.mutable_destination_ip(), "host", 1); }),
              HasSubstr("destination_ip has an address_prefix that is not an IP address"));
  EXPECT_THAT(problem_from([](wire::Principal& p) { set_range(*p.mutable_remote_ip(), "10.0.0.0", 33); }),
              HasSubstr("remote_ip has a prefix_len of 33"));
  EXPECT_THAT(problem_from([](wire::Principal& p) {
                p.mutable_authenticated()->mutable_principal_name()->mutable_safe_regex()->set_regex("(");
              }),
              HasSubstr("authenticated.principal_name.safe_regex is not a regular expression"));
}

TEST(Rbac, DepthAndNumberAreLimited) {
  const auto nested = [](std::size_t depth) {
    return [depth](wire::Permission& p) {
      wire::Permission* inner = &p;
      for (std::size_t i = 1; i < depth; ++i) inner = inner->mutable_not_rule();
      inner->set_any(true);
    };
  };
  EXPECT_EQ(problem_of(nested(limits::rbac_depth_max)), "valid");
  EXPECT_THAT(problem_of(nested(limits::rbac_depth_max + 1)), HasSubstr("is nested deeper than 16"));
  const auto many = [](std::size_t count) {
    return [count](wire::Permission& p) {
      for (std::size_t i = 0; i < count; ++i) p.mutable_or_rules()->add_rules()->set_any(true);
    };
  };
  EXPECT_EQ(problem_of(many(limits::rbac_conditions_max - 2)), "valid");
  EXPECT_THAT(problem_of(many(limits::rbac_conditions_max)),
              HasSubstr("exceeds 50000 permissions and principals in a response"));
}

// What a logger of the program has recorded, with its configuration.
std::vector<std::string> recorded;
class recording final : public audit_logger {
 public:
  void log(const audit_event& e) override {
    recorded.push_back(std::string(e.policy) + "|" + std::string(e.rule) + (e.authorized ? "|yes" : "|no"));
  }
};

wire::AuditLoggerConfig* add_logger(wire::Rbac& to, const std::string& name) {
  wire::TypedStruct typed;
  typed.set_type_url("grpc.authz.audit_logging/" + name);
  (*typed.mutable_value()->mutable_fields())["a"].set_string_value("b");
  auto* const logger = to.mutable_audit_logging_options()->add_logger_configs();
  *logger->mutable_audit_logger()->mutable_typed_config() = packed("xds.type.v3.TypedStruct", typed);
  return logger;
}

TEST(Rbac, AuditLoggersAreThoseOfTheProgram) {
  recorded.clear();
  register_audit_logger("recording", [](std::string_view config) -> result<std::shared_ptr<audit_logger>> {
    recorded.emplace_back(config);
    return std::make_shared<recording>();
  });
  wire::Rbac rbac =
      rules_of([](wire::Permission& p) { p.mutable_url_path()->mutable_path()->set_exact("/a.A/Call"); });
  add_logger(rbac, "recording");
  add_logger(rbac, "unknown")->set_is_optional(true);
  std::vector<std::vector<std::string>> lines;
  for (int condition = 0; condition < 4; ++condition) {
    rbac.mutable_audit_logging_options()->set_audit_condition(condition);
    const auto rules = read(rbac);
    EXPECT_THAT(recorded, ElementsAre(R"({"a":"b"})"));
    recorded.clear();
    call_of_test call;
    EXPECT_TRUE(rules->decide(call.facts()).authorized);
    call.path = "/a.A/Other";
    EXPECT_FALSE(rules->decide(call.facts()).authorized);
    lines.push_back(std::exchange(recorded, {}));
  }
  const std::string yes = "filter|policy|yes";
  const std::string no = "filter||no";
  EXPECT_THAT(lines, ElementsAre(ElementsAre(), ElementsAre(no), ElementsAre(yes), ElementsAre(yes, no)));
}

TEST(Rbac, AuditLoggersThatAreInvalidAreRefused) {
  wire::Rbac rbac = rules_of({});
  rbac.mutable_audit_logging_options()->set_audit_condition(4);
  EXPECT_EQ(problem(rbac), "audit_logging_options.audit_condition is unknown: 4");
  rbac.mutable_audit_logging_options()->set_audit_condition(1);
  add_logger(rbac, "unknown");
  EXPECT_EQ(problem(rbac),
            "audit_logging_options.logger_configs[0] names an audit logger that is not registered: unknown");
  auto& typed = *rbac.mutable_audit_logging_options()->mutable_logger_configs(0)->mutable_audit_logger();
  *typed.mutable_typed_config() = packed("a.Logger", wire::Unread());
  EXPECT_THAT(problem(rbac), HasSubstr("is not registered: a.Logger"));
  *typed.mutable_typed_config() =
      packed("envoy.extensions.rbac.audit_loggers.stream.v3.StdoutAuditLog", wire::Unread());
  EXPECT_EQ(problem(rbac), "valid");
  typed.clear_typed_config();
  EXPECT_EQ(problem(rbac), "audit_logging_options.logger_configs[0] has no typed_config");
  rbac.clear_audit_logging_options();
  for (std::size_t i = 0; i <= limits::audit_loggers_max; ++i)
    add_logger(rbac, "unknown")->set_is_optional(true);
  EXPECT_EQ(problem(rbac), "audit_logging_options.logger_configs exceeds 16 loggers");
}

// The Listener of a server, with an RBAC filter of this configuration.
wire::Listener with_filter(const google::protobuf::Any& config) {
  wire::HttpConnectionManager m = manager_of_rds("r");
  add_filter(m, "rbac", config);
  wire::Listener l = inbound_listener_at("127.0.0.1", 80);
  set_manager(*l.mutable_filter_chains(0), m);
  return l;
}
result<std::shared_ptr<const listener>> read(const wire::Listener& l, bool serves = true) {
  resource_rules rules;
  rules.serves = serves;
  return parse_listener(l.SerializeAsString(), rules);
}
constexpr std::string_view filter_name = "envoy.extensions.filters.http.rbac.v3.RBAC";
constexpr std::string_view override_name = "envoy.extensions.filters.http.rbac.v3.RBACPerRoute";

const filter* filter_in(const wire::RbacFilter& f) {
  const auto parsed = read(with_filter(packed(filter_name, f)));
  EXPECT_EQ(parsed.status(), status());
  return (*parsed)->inbound->chains[0].manager.filters.at(0).applied.get();
}

TEST(RbacFilter, IsThereIfItHasRulesThatDecide) {
  wire::RbacFilter f;
  EXPECT_EQ(filter_in(f), nullptr);
  *f.mutable_rules() = rules_of({});
  EXPECT_NE(filter_in(f), nullptr);
  f.mutable_rules()->set_action(2);
  EXPECT_EQ(filter_in(f), nullptr);
}

TEST(RbacFilter, ThatIsInvalidMakesTheListenerInvalid) {
  wire::RbacFilter f;
  *f.mutable_rules() = rules_of([](wire::Permission&) {});
  EXPECT_THAT(
      std::string(read(with_filter(packed(filter_name, f))).status().message()),
      HasSubstr("http_filters[0].typed_config.rules.policies[\"policy\"].permissions[0] has a rule that is"));
  google::protobuf::Any garbage = packed(filter_name, f);
  garbage.set_value("\xff");
  EXPECT_THAT(std::string(read(with_filter(garbage)).status().message()), HasSubstr("is not a valid envoy"));
}

TEST(RbacFilter, IsOneOfServersAlone) {
  const wire::Listener inbound = with_filter(packed(filter_name, wire::RbacFilter()));
  wire::HttpConnectionManager m;
  m.ParseFromString(inbound.filter_chains(0).filters(0).typed_config().value());
  EXPECT_THAT(std::string(read(listener_with("l", m), false).status().message()),
              HasSubstr("which is not supported and not optional"));
}

TEST(RbacFilter, OverridesStandInItsPlace) {
  wire::RbacPerRoute override_of;
  *override_of.mutable_rbac()->mutable_rules() = rules_of({});
  wire::RouteConfiguration r = accepting_routes("r");
  auto& overrides = *r.mutable_virtual_hosts(0)->mutable_typed_per_filter_config();
  overrides["rbac"] = packed(override_name, override_of);
  auto& of_route = *r.mutable_virtual_hosts(0)->mutable_routes(0)->mutable_typed_per_filter_config();
  of_route["rbac"] = packed(override_name, wire::RbacPerRoute());
  const auto parsed = parse_route_configuration(r.SerializeAsString(), resource_rules());
  ASSERT_EQ(parsed.status(), status());
  const virtual_host& host = (*parsed)->virtual_hosts.at(0);
  EXPECT_NE(host.overrides.at(0).applied, nullptr);
  EXPECT_EQ(host.routes.at(0).overrides.at(0).applied, nullptr);
  override_of.mutable_rbac()->mutable_rules()->set_action(9);
  overrides["rbac"] = packed(override_name, override_of);
  EXPECT_THAT(
      std::string(parse_route_configuration(r.SerializeAsString(), resource_rules()).status().message()),
      HasSubstr("typed_per_filter_config[\"rbac\"].rbac.rules.action is unknown: 9"));
  overrides["rbac"] = packed(filter_name, wire::RbacFilter());
  EXPECT_THAT(
      std::string(parse_route_configuration(r.SerializeAsString(), resource_rules()).status().message()),
      HasSubstr("not supported"));
}

}  // namespace
}  // namespace coracle::xds::rbac_test
