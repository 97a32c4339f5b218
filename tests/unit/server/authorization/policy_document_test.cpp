// Authorization policies: what is valid, what is refused, and which calls they admit (gRFCs A43 and A59).
#include "server/authorization/policy_document.hpp"

#include "coracle/server/audit_logger.hpp"
#include "support/allocation_counter.hpp"
#include "unit/server/authorization/call_of_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace coracle::server_internal::policy_document_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// What audit loggers of the name "kept" have recorded, with their configuration.
struct kept_events {
  std::vector<std::string> lines;
  std::vector<std::string> configs;
};
kept_events& kept() {
  static kept_events all;
  return all;
}
class keeping final : public audit_logger {
 public:
  void log(const audit_event& e) override {
    std::string line = e.authorized ? "yes" : "no";
    for (const auto text : {e.method, e.principal, e.policy, e.rule}) line.append("|").append(text);
    kept().lines.push_back(line);
  }
};
void register_loggers() {
  kept() = {};
  register_audit_logger("kept", [](std::string_view config) -> result<std::shared_ptr<audit_logger>> {
    kept().configs.emplace_back(config);
    return std::make_shared<keeping>();
  });
  register_audit_logger("broken", [](std::string_view) -> result<std::shared_ptr<audit_logger>> {
    return status::invalid_argument("no such file");
  });
}

bool admits(const policy_rules& by, const call_of_test& call) {
  return (!by.denied || by.denied->decide(call.facts()).authorized) &&
         by.allowed.decide(call.facts()).authorized;
}
// A policy with one allow rule of this content.
policy_rules rule(const std::string& content) {
  auto parsed = parse_policy(R"({"name":"p","allow_rules":[{"name":"r",)" + content + "}]}");
  EXPECT_EQ(parsed.status(), status());
  return *std::move(parsed);
}
std::string problem(const std::string& json) {
  const auto parsed = parse_policy(json);
  EXPECT_EQ(parsed.status().code(), status_code::invalid_argument) << json;
  return std::string(parsed.status().message());
}

bool admits_path(const std::string& pattern, const char* path) {
  call_of_test call;
  call.path = path;
  return admits(rule(R"("request":{"paths":[")" + pattern + "\"]}"), call);
}

TEST(AuthorizationPolicy, PathsHaveAWildcardAtOneEnd) {
  EXPECT_TRUE(admits_path("/a.A/Call", "/a.A/Call"));
  EXPECT_FALSE(admits_path("/a.A/Call", "/a.A/Calls"));
  EXPECT_TRUE(admits_path("/a.A/*", "/a.A/Call"));
  EXPECT_TRUE(admits_path("/a.A/*", "/a.A/"));
  EXPECT_FALSE(admits_path("/a.A/*", "/a.B/Call"));
  EXPECT_TRUE(admits_path("*/Call", "/a.A/Call"));
  EXPECT_FALSE(admits_path("*/Call", "/a.A/Other"));
  EXPECT_TRUE(admits_path("*", "/a.A/Call"));
  EXPECT_TRUE(admits_path("*/a*", "*/ab"));  // the first one is a letter
  EXPECT_FALSE(admits_path("*/a*", "/x/ab"));
  EXPECT_FALSE(admits_path("", "/a.A/Call"));
}

// gRFC A43 knows exact texts, prefixes, suffixes and presence: any other star is a letter, as in grpc-go. A
// rule that relies on more matches nothing, and one that denies does not deny.
TEST(AuthorizationPolicy, AStarThatIsNotAtAnEndIsALetter) {
  EXPECT_FALSE(admits_path("/a.*/Call", "/a.A/Call"));
  EXPECT_TRUE(admits_path("/a.*/Call", "/a.*/Call"));
  EXPECT_FALSE(admits_path("/a.*/*", "/a.A/Call"));
  EXPECT_TRUE(admits_path("/a.*/*", "/a.*/Call"));
  EXPECT_FALSE(admits_path("/a.A/**", "/a.A/Call"));
  EXPECT_TRUE(admits_path("/a.A/**", "/a.A/*Call"));
  const auto denying = parse_policy(R"({"name":"p","allow_rules":[{"name":"all"}],
    "deny_rules":[{"name":"no","request":{"paths":["/a.*/Call"]}},
                  {"name":"nor","source":{"principals":["spiffe://*/b"]}},
                  {"name":"or","request":{"headers":[{"key":"x","values":["1*2"]}]}}]})");
  ASSERT_EQ(denying.status(), status());
  call_of_test call;
  auth_context& tls = call.use_tls();
  tls.peer_verified(true).identities({{peer_identity::kind::uri, "spiffe://a/b"}});
  call.headers.add("x", "132");
  EXPECT_TRUE(admits(*denying, call));
  call.path = "/a.*/Call";
  EXPECT_FALSE(admits(*denying, call));
  call.path = "/a.A/Call";
  tls.identities({{peer_identity::kind::uri, "spiffe://*/b"}});
  EXPECT_FALSE(admits(*denying, call));
  call_of_test other;
  EXPECT_TRUE(admits(*denying, other));
  other.headers.add("x", "1*2");
  EXPECT_FALSE(admits(*denying, other));
}

TEST(AuthorizationPolicy, ARuleWithoutContentMatchesEveryCall) {
  const call_of_test call;
  EXPECT_TRUE(admits(rule(R"("source":{},"request":{})"), call));
  EXPECT_TRUE(admits(rule(R"("source":{"principals":[]},"request":{"paths":[],"headers":[]})"), call));
  EXPECT_TRUE(admits(*parse_policy(R"({"name":"p","allow_rules":[{"name":"r"}]})"), call));
}

TEST(AuthorizationPolicy, PrincipalsAreNamesOfClients) {
  const policy_rules by = rule(R"("source":{"principals":["spiffe://a/*","CN=*"]})");
  call_of_test call;
  EXPECT_FALSE(admits(by, call));
  auth_context& tls = call.use_tls();
  EXPECT_FALSE(admits(by, call));
  tls.peer_verified(true).subject("CN=c");
  EXPECT_TRUE(admits(by, call));
  tls.identities({{peer_identity::kind::uri, "spiffe://b/b"}});
  EXPECT_FALSE(admits(by, call));
  tls.identities({{peer_identity::kind::uri, "spiffe://a/b"}});
  EXPECT_TRUE(admits(by, call));
}

TEST(AuthorizationPolicy, AStarIsAClientWithANameAndNothingIsOneWithoutACertificate) {
  call_of_test call;
  call.use_tls();
  EXPECT_FALSE(admits(rule(R"("source":{"principals":["*"]})"), call));
  EXPECT_TRUE(admits(rule(R"("source":{"principals":[""]})"), call));
  call.auth->peer_verified(true).subject("CN=c");
  EXPECT_TRUE(admits(rule(R"("source":{"principals":["*"]})"), call));
  EXPECT_FALSE(admits(rule(R"("source":{"principals":[""]})"), call));
}

TEST(AuthorizationPolicy, AllHeadersAndOneOfTheirValuesMustMatch) {
  const policy_rules by =
      rule(R"("request":{"headers":[{"key":"X","values":["a","b*"]},{"key":"y","values":["*"]}]})");
  call_of_test call;
  EXPECT_FALSE(admits(by, call));
  call.headers.add("x", "bc");
  EXPECT_FALSE(admits(by, call));
  call.headers.add("y", "");
  EXPECT_FALSE(admits(by, call));
  call.headers.add("y", "");
  EXPECT_TRUE(admits(by, call));  // ","
  call.headers.add("x", "a");
  EXPECT_TRUE(admits(by, call));  // "bc,a"
  EXPECT_FALSE(admits(rule(R"("request":{"headers":[{"key":"x","values":["a"]}]})"), call));
}

TEST(AuthorizationPolicy, PathsHeadersAndSourceMustMatchTogether) {
  const policy_rules by = rule(
      R"("source":{"principals":[""]},"request":{"paths":["/a.A/Call"],"headers":[{"key":"x","values":["1"]}]})");
  call_of_test call;
  call.use_tls();
  EXPECT_FALSE(admits(by, call));
  call.headers.add("x", "1");
  EXPECT_TRUE(admits(by, call));
  call.path = "/a.A/Other";
  EXPECT_FALSE(admits(by, call));
  call.path = "/a.A/Call";
  call.auth.reset();
  EXPECT_FALSE(admits(by, call));
}

TEST(AuthorizationPolicy, DenyRulesDecideFirst) {
  const auto by = parse_policy(R"({"name":"p","allow_rules":[{"name":"all"}],
    "deny_rules":[{"name":"no","request":{"paths":["/a.A/Call"]}}]})");
  ASSERT_EQ(by.status(), status());
  call_of_test call;
  EXPECT_FALSE(admits(*by, call));
  call.path = "/a.A/Other";
  EXPECT_TRUE(admits(*by, call));
}

TEST(AuthorizationPolicy, WhatIsWrongIsNamedWithItsPlace) {
  register_loggers();
  const std::string base = R"({"name":"p","allow_rules":[{"name":"r"}])";
  EXPECT_THAT(problem(""), HasSubstr("line 1"));
  EXPECT_THAT(problem("{} {}"), HasSubstr("line 1"));
  EXPECT_THAT(problem(R"({"name":"a","name":"b"})"), HasSubstr("twice"));
  EXPECT_THAT(problem("[]"), HasSubstr("the policy must be an object"));
  EXPECT_THAT(problem("{}"), HasSubstr("the policy has no name"));
  EXPECT_THAT(problem(R"({"name":""})"), HasSubstr("name must not be empty"));
  EXPECT_THAT(problem(R"({"name":1})"), HasSubstr("name must be a string"));
  EXPECT_THAT(problem(R"({"name":"p"})"), HasSubstr("has no allow_rules"));
  EXPECT_THAT(problem(R"({"name":"p","allow_rules":[]})"), HasSubstr("has no allow_rules"));
  EXPECT_THAT(problem(R"({"name":"p","allow_rules":null})"), HasSubstr("allow_rules must be an array"));
  EXPECT_THAT(problem(R"({"Name":"p"})"), HasSubstr("the policy has an unknown field: \"Name\""));
  EXPECT_THAT(problem(base + R"(,"more":1})"), HasSubstr("unknown field: \"more\""));
  EXPECT_THAT(problem(base + R"(,"deny_rules":[{}]})"), HasSubstr("deny_rules[0] has no name"));
  EXPECT_THAT(problem(base + R"(,"deny_rules":[{"name":"a"},{"name":"a"}]})"),
              HasSubstr("deny_rules[1] has the name of another rule"));
  const auto of_rule = [](const std::string& content) {
    return problem(R"({"name":"p","allow_rules":[{"name":"r"},{"name":"s",)" + content + "}]}");
  };
  EXPECT_THAT(of_rule(R"("sources":{})"), HasSubstr("allow_rules[1] has an unknown field: \"sources\""));
  EXPECT_THAT(of_rule(R"("source":{"ips":[]})"),
              HasSubstr("allow_rules[1].source has an unknown field: \"ips\""));
  EXPECT_THAT(of_rule(R"("source":{"principals":["a",2]})"),
              HasSubstr("allow_rules[1].source.principals[1] must be a string"));
  EXPECT_THAT(of_rule(R"("request":{"methods":[]})"), HasSubstr(".request has an unknown field"));
  EXPECT_THAT(of_rule(R"("request":{"paths":"a"})"), HasSubstr(".request.paths must be an array"));
  EXPECT_THAT(of_rule(R"("request":{"headers":[{"values":["a"]}]})"), HasSubstr("headers[0] has no key"));
  EXPECT_THAT(of_rule(R"("request":{"headers":[{"key":"a"}]})"), HasSubstr("headers[0] has no values"));
  EXPECT_THAT(of_rule(R"("request":{"headers":[{"key":"a","values":["1"],"invert":true}]})"),
              HasSubstr("headers[0] has an unknown field"));
  for (const char* name : {"Host", ":path", "grpc-timeout", "TE", "connection", "keep-alive", "trailer",
                           "transfer-encoding", "upgrade", "proxy-authenticate", "proxy-authorization"})
    EXPECT_THAT(of_rule(R"("request":{"headers":[{"key":")" + std::string(name) + R"(","values":["1"]}]})"),
                HasSubstr("headers[0].key is a header that rules cannot match"));
}

TEST(AuthorizationPolicy, WhatIsWrongWithAuditLoggersIsNamed) {
  register_loggers();
  const auto with = [](const std::string& options) {
    return problem(R"({"name":"p","allow_rules":[{"name":"r"}],"audit_logging_options":)" + options + "}");
  };
  EXPECT_THAT(with("[]"), HasSubstr("audit_logging_options must be an object"));
  EXPECT_THAT(with(R"({"audit_condition":"SOMETIMES"})"),
              HasSubstr("audit_logging_options.audit_condition must be NONE, ON_DENY"));
  EXPECT_THAT(with(R"({"audit_logger":[]})"), HasSubstr("unknown field: \"audit_logger\""));
  EXPECT_THAT(with(R"({"audit_loggers":[{}]})"), HasSubstr("audit_loggers[0] has no name"));
  EXPECT_THAT(with(R"({"audit_loggers":[{"name":"absent"}]})"),
              HasSubstr("audit_loggers[0] names an audit logger that is not registered: absent"));
  EXPECT_THAT(with(R"({"audit_loggers":[{"name":"broken","is_optional":true}]})"),
              HasSubstr("audit_loggers[0] is invalid: no such file"));
  EXPECT_THAT(with(R"({"audit_loggers":[{"name":"kept","config":[]}]})"),
              HasSubstr("config must be an object"));
  EXPECT_THAT(with(R"({"audit_loggers":[{"name":"kept","is_optional":1}]})"),
              HasSubstr("is_optional must be true or false"));
  std::string many = R"({"name":"kept"})";
  for (std::size_t i = 0; i < policy_loggers_max; ++i) many.append(R"(,{"name":"kept"})");
  EXPECT_THAT(with(R"({"audit_loggers":[)" + many + "]}"), HasSubstr("exceeds 16 audit_loggers"));
}

TEST(AuthorizationPolicy, AnOptionalLoggerMayBeUnknown) {
  register_loggers();
  const auto by = parse_policy(R"({"name":"p","allow_rules":[{"name":"r"}],"audit_logging_options":
    {"audit_condition":"ON_ALLOW","audit_loggers":[{"name":"absent","is_optional":true},{"name":"kept"}]}})");
  ASSERT_EQ(by.status(), status());
  EXPECT_TRUE(admits(*by, {}));
  EXPECT_THAT(kept().lines, ElementsAre("yes|/a.A/Call||p|p_r"));
  EXPECT_THAT(kept().configs, ElementsAre("{}"));
}

// The lines of a call that is admitted, one that a rule denies, and one that no rule allows.
std::vector<std::string> lines_of(const char* condition) {
  register_loggers();
  std::string json = R"({"name":"p","deny_rules":[{"name":"no","request":{"paths":["/no"]}}],)";
  json.append(R"("allow_rules":[{"name":"yes","request":{"paths":["/yes"]}}],"audit_logging_options":)");
  json.append(R"({"audit_condition":")").append(condition).append(R"(","audit_loggers":[{"name":"kept",)");
  json.append(R"("config":{"a":1}}]}})");
  const auto by = parse_policy(json);
  EXPECT_EQ(by.status(), status());
  EXPECT_THAT(kept().configs, ElementsAre(R"({"a":1})"));
  call_of_test call;
  call.use_tls().peer_verified(true).identities({{peer_identity::kind::uri, "spiffe://a/b"}});
  for (const char* path : {"/yes", "/no", "/other"}) {
    call.path = path;
    EXPECT_EQ(admits(*by, call), call.path == "/yes");
  }
  return kept().lines;
}

TEST(AuthorizationPolicy, EachDecisionIsRecordedOnceIfItsConditionFits) {
  constexpr auto yes = "yes|/yes|spiffe://a/b|p|p_yes";
  constexpr auto no = "no|/no|spiffe://a/b|p|p_no";
  constexpr auto other = "no|/other|spiffe://a/b|p|";
  EXPECT_THAT(lines_of("NONE"), IsEmpty());
  EXPECT_THAT(lines_of(""), IsEmpty());
  EXPECT_THAT(lines_of("ON_ALLOW"), ElementsAre(yes));
  EXPECT_THAT(lines_of("ON_DENY"), ElementsAre(no, other));
  EXPECT_THAT(lines_of("ON_DENY_AND_ALLOW"), ElementsAre(yes, no, other));
}

TEST(AuthorizationPolicy, SizesAreLimited) {
  const auto with_rules = [](std::size_t count, std::size_t paths) {
    std::string json = R"({"name":"p","allow_rules":[)";
    for (std::size_t i = 0; i < count; ++i) {
      json.append(i == 0 ? "" : ",").append(R"({"name":")").append(std::to_string(i));
      json.append(R"(","request":{"paths":["a")");
      for (std::size_t n = 1; n < paths; ++n) json.append(",\"a\"");
      json.append("]}}");
    }
    return json.append("]}");
  };
  EXPECT_EQ(parse_policy(with_rules(policy_rules_max, 10)).status(), status());
  EXPECT_THAT(problem(with_rules(policy_rules_max + 1, 1)),
              HasSubstr("allow_rules[1000] exceeds 1000 rules of allow_rules"));
  EXPECT_THAT(problem(with_rules(policy_rules_max, 11)), HasSubstr("exceeds 10000 principals"));
  const std::string spaces(policy_bytes_max, ' ');
  EXPECT_THAT(problem(R"({"name":"p","allow_rules":[{"name":"r"}]})" + spaces), HasSubstr("limit 1048576"));
}

TEST(AuthorizationPolicy, ACheckOfPathsPrincipalsAndAHeaderDoesNotAllocate) {
  const auto by = parse_policy(R"({"name":"p","deny_rules":[{"name":"no","request":{"paths":["*/no"]}}],
    "allow_rules":[{"name":"a","source":{"principals":["spiffe://x/*","spiffe://a/a-name-that-is-too-long"]}},
    {"name":"b","source":{"principals":["spiffe://a/*"]},"request":{"paths":["/a.A/*"],
     "headers":[{"key":"a-header-that-is-quite-long","values":["a value that is quite long, too"]}]}}]})");
  ASSERT_EQ(by.status(), status());
  call_of_test call;
  call.use_tls().peer_verified(true).identities({{peer_identity::kind::uri, "spiffe://a/another-long-name"}});
  call.headers.add("a-header-that-is-quite-long", "a value that is quite long, too");
  const std::size_t before = test::allocation_count;
  const bool admitted = admits(*by, call);
  EXPECT_EQ(test::allocation_count, before);
  EXPECT_TRUE(admitted);
}

TEST(AuditLine, IsOneLineOfJson) {
  using namespace std::chrono;
  const audit_event event{"/a.A/B\"\n", "spiffe://a/b", "p", "", false};
  const auto at = system_clock::time_point(seconds(1'700'000'000) + microseconds(1234));
  EXPECT_EQ(
      audit_line(event, at),
      "{\"grpc_audit_log\":{\"timestamp\":\"2023-11-14T22:13:20.001234Z\",\"rpc_method\":\"/a.A/B\\\"\\n\","
      "\"principal\":\"spiffe://a/b\",\"policy_name\":\"p\",\"matched_rule\":\"\",\"authorized\":false}}\n");
}

TEST(AuditLoggers, OneForTheStandardOutputIsRegistered) {
  const auto by = parse_policy(R"({"name":"p","allow_rules":[{"name":"r"}],"audit_logging_options":
    {"audit_condition":"ON_ALLOW","audit_loggers":[{"name":"stdout_logger","config":{"ignored":true}}]}})");
  ASSERT_EQ(by.status(), status());
  testing::internal::CaptureStdout();
  EXPECT_TRUE(admits(*by, {}));
  const std::string line = testing::internal::GetCapturedStdout();
  EXPECT_THAT(line,
              HasSubstr(R"("rpc_method":"/a.A/Call","principal":"","policy_name":"p","matched_rule":"p_r")"));
  EXPECT_TRUE(line.ends_with("\"authorized\":true}}\n")) << line;
}

}  // namespace
}  // namespace coracle::server_internal::policy_document_test
