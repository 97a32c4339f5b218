// Service configs: their contents, and the messages for invalid ones (gRFC A6, A21).
#include "coracle/client/service_config.hpp"

#include "client/balancing/priority.hpp"
#include "client/balancing/weighted_target.hpp"
#include "client/call/method_config.hpp"
#include "client/call/retry_policy.hpp"
#include "client/naming/service_config_data.hpp"
#include "coracle/client/balancing.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace coracle::client::service_config_test {
namespace {

using namespace std::chrono_literals;

service_config parsed(std::string_view json) {
  const auto c = service_config::parse(json);
  EXPECT_EQ(c.status(), status()) << json;
  return c ? *c : service_config();
}

std::string with_method(std::string_view fields) {
  return R"({"methodConfig":[{"name":[{"service":"s"}],)" + std::string(fields) + "}]}";
}

const client::method_config& method_of(const method_configs& m) {
  static const client::method_config none;
  const auto* found = m.find("/s/any");
  EXPECT_NE(found, nullptr);
  return found ? *found : none;
}

TEST(ServiceConfig, ThatIsEmptySaysNothing) {
  const service_config c = parsed("{}");
  EXPECT_TRUE(c.load_balancing().empty());
  EXPECT_EQ(c.health_check_service(), nullptr);
  EXPECT_EQ(method_configs(c, nullptr).find("/a/b"), nullptr);
  EXPECT_EQ(method_configs(service_config(), nullptr).find("/a/b"), nullptr);
}

TEST(ServiceConfig, GivesAMethodItsOwnEntryElseItsServicesElseTheDefault) {
  const method_configs m(parsed(R"({"methodConfig":[
    {"name":[{"service":"a.S","method":"M"}],"timeout":"1s"},
    {"name":[{"service":"a.S"}],"timeout":"2s"},
    {"name":[{}],"timeout":"3s"}]})"),
                         nullptr);
  EXPECT_EQ(m.find("/a.S/M")->timeout, 1s);
  EXPECT_EQ(m.find("/a.S/N")->timeout, 2s);
  EXPECT_EQ(m.find("/a.T/M")->timeout, 3s);
  EXPECT_EQ(m.find("nonsense")->timeout, 3s);
}

TEST(ServiceConfig, OfAnEntryWithSeveralNamesHoldsForEach) {
  const method_configs m(
      parsed(
          R"({"methodConfig":[{"name":[{"service":"a"},{"service":"b","method":"M"}],"waitForReady":true}]})"),
      nullptr);
  EXPECT_EQ(m.find("/a/x")->wait_for_ready, true);
  EXPECT_EQ(m.find("/b/M")->wait_for_ready, true);
  EXPECT_EQ(m.find("/b/x"), nullptr);
}

TEST(ServiceConfig, ReadsEachFieldOfAMethod) {
  const method_configs m(parsed(with_method(
                             R"("timeout":"1.5s","waitForReady":false,"maxRequestMessageBytes":100,
                                "maxResponseMessageBytes":"200")")),
                         nullptr);
  const client::method_config& c = method_of(m);
  EXPECT_EQ(c.timeout, 1500ms);
  EXPECT_EQ(c.wait_for_ready, false);
  EXPECT_EQ(c.max_request_bytes, 100u);
  EXPECT_EQ(c.max_response_bytes, 200u);
  EXPECT_EQ(c.retry, nullptr);
  EXPECT_EQ(c.throttle, nullptr);
}

TEST(ServiceConfig, ReadsARetryPolicy) {
  const method_configs m(parsed(with_method(
                             R"("retryPolicy":{"maxAttempts":3,"initialBackoff":"0.1s","maxBackoff":"10s",
                                "backoffMultiplier":1.5,"retryableStatusCodes":["UNAVAILABLE","aborted",4]})")),
                         nullptr);
  const client::retry_policy& p = *method_of(m).retry;
  EXPECT_EQ(p.max_attempts, 3u);
  EXPECT_EQ(p.initial_backoff, 100ms);
  EXPECT_EQ(p.max_backoff, 10s);
  EXPECT_EQ(p.backoff_multiplier, 1.5);
  EXPECT_TRUE(p.retryable.contains(status_code::unavailable));
  EXPECT_TRUE(p.retryable.contains(status_code::aborted));
  EXPECT_TRUE(p.retryable.contains(status_code::deadline_exceeded));
  EXPECT_FALSE(p.retryable.contains(status_code::internal));
}

TEST(ServiceConfig, ReadsAHedgingPolicyWithItsDefaults) {
  const method_configs m(parsed(with_method(R"("hedgingPolicy":{"maxAttempts":4})")), nullptr);
  const client::hedging_policy& p = *method_of(m).hedging;
  EXPECT_EQ(p.max_attempts, 4u);
  EXPECT_EQ(p.delay, 0s);
  EXPECT_TRUE(p.non_fatal.empty());
}

TEST(ServiceConfig, MakesNoMoreThanFiveAttempts) {
  const method_configs m(parsed(with_method(R"("hedgingPolicy":{"maxAttempts":100})")), nullptr);
  EXPECT_EQ(method_of(m).hedging->max_attempts, 5u);
}

TEST(ServiceConfig, SharesOneThrottleAmongItsMethodsAndKeepsItsTokensInProportion) {
  const std::string head = R"({"methodConfig":[{"name":[{"service":"a"}]},{"name":[{"service":"b"}]}],)";
  const method_configs first(parsed(head + R"("retryThrottling":{"maxTokens":10,"tokenRatio":0.5}})"),
                             nullptr);
  EXPECT_EQ(first.find("/a/x")->throttle, first.find("/b/x")->throttle);
  first.find("/a/x")->throttle->failed();
  const method_configs second(parsed(head + R"("retryThrottling":{"maxTokens":20,"tokenRatio":0.1238}})"),
                              &first);
  EXPECT_EQ(second.find("/a/x")->throttle->tokens(), 18'000);
  second.find("/a/x")->throttle->succeeded();
  EXPECT_EQ(second.find("/a/x")->throttle->tokens(), 18'123);
}

TEST(ServiceConfig, WithoutRetriesKeepsTheRest) {
  const std::string json =
      R"({"methodConfig":[{"name":[{}],"timeout":"1s","hedgingPolicy":{"maxAttempts":2}}]})";
  const method_configs m(parsed(json), nullptr, false);
  EXPECT_EQ(m.find("/a/b")->hedging, nullptr);
  EXPECT_EQ(m.find("/a/b")->timeout, 1s);
}

TEST(ServiceConfig, KeepsBalancingPoliciesInOrderWithTheirOwnConfigs) {
  const service_config c = parsed(
      R"({"loadBalancingConfig":[{"mine":{"a":[1,2]}},{"round_robin":{}}],"loadBalancingPolicy":"x"})");
  ASSERT_EQ(c.load_balancing().size(), 2u);
  EXPECT_EQ(c.load_balancing()[0].name(), "mine");
  EXPECT_EQ(c.load_balancing()[0].config(), R"({"a":[1,2]})");
  EXPECT_EQ(c.load_balancing()[1].name(), "round_robin");
}

// The policy that a config has, and the one that it is in code.
TEST(ServiceConfig, ReadsBalancingPoliciesAndTheirChildren) {
  weighted_round_robin_options weights;
  weights.oob_load_report = true;
  weights.oob_reporting_period = 5s;
  weights.blackout_period = 1s;
  weights.weight_expiration_period = 60s;
  weights.weight_update_period = 500ms;
  weights.error_utilization_penalty = 0.5;
  weights.metric_names_for_computing_utilization = {"named_metrics.q"};
  weighted_round_robin_options warming;
  warming.slow_start = slow_start_options{.window = 9s};
  outlier_detection_options outliers;
  outliers.interval = 1s;
  outliers.base_ejection_time = 2s;
  outliers.max_ejection_time = 3s;
  outliers.max_ejection_percent = 50;
  outliers.success_rate_ejection = {
      .stdev_factor = 1, .enforcement_percentage = 2, .minimum_hosts = 3, .request_volume = 4};
  outliers.failure_percentage_ejection = {
      .threshold = 5, .enforcement_percentage = 6, .minimum_hosts = 7, .request_volume = 8};
  const std::pair<const char*, balancing> policies[] = {
      {R"({"pick_first":{"shuffleAddressList":true}})", balancing::pick_first(true)},
      {R"({"least_request_experimental":{"choiceCount":11}})", balancing::least_request(10)},
      {R"({"weighted_round_robin":{}})", balancing::weighted_round_robin()},
      {R"({"weighted_round_robin":{"enableOobLoadReport":true,"oobReportingPeriod":"5s","blackoutPeriod":"1s",
           "weightExpirationPeriod":"60s","weightUpdatePeriod":"0.5s","errorUtilizationPenalty":0.5,
           "metricNamesForComputingUtilization":["named_metrics.q"]}})",
       balancing::weighted_round_robin(weights)},
      {R"({"ring_hash_experimental":{"minRingSize":10,"maxRingSize":"20","requestHashHeader":"user"}})",
       balancing::ring_hash({10, 20, "user"})},
      {R"({"random_subsetting_experimental":{"subsetSize":7,"childPolicy":[{"unknown":{}},{"round_robin":{}}]}})",
       balancing::random_subsetting(7, balancing::round_robin())},
      {R"({"outlier_detection_experimental":{"interval":"1s","baseEjectionTime":"2s","maxEjectionTime":"3s",
           "maxEjectionPercent":50,
           "successRateEjection":{"stdevFactor":1,"enforcementPercentage":2,"minimumHosts":3,"requestVolume":4},
           "failurePercentageEjection":{"threshold":5,"enforcementPercentage":6,"minimumHosts":7,"requestVolume":8},
           "childPolicy":[{"ring_hash_experimental":{}}]}})",
       balancing::outlier_detection(outliers, balancing::ring_hash())},
      {R"({"round_robin":{"slowStartConfig":{"slowStartWindow":"9s","aggression":2,"minWeightPercent":5}}})",
       balancing::round_robin({9s, 2, 5})},
      {R"({"weighted_round_robin":{"slowStartConfig":{"slowStartWindow":"9s"}}})",
       balancing::weighted_round_robin(warming)},
      {R"({"priority_experimental":{"priorities":["b","a"],"children":{
           "a":{"config":[{"round_robin":{}}]},
           "b":{"config":[{"ring_hash_experimental":{}}],"ignoreReresolutionRequests":true},
           "c":{"config":[{"unknown":{}}]}}}})",
       balancing(std::make_shared<const priority_config>(std::vector<priority_config::level>{
           {"b", balancing::ring_hash(), nullptr, true}, {"a", balancing::round_robin()}}))},
      {R"({"weighted_target_experimental":{"targets":{"a":{"weight":3,"childPolicy":[{"round_robin":{}}]}}}})",
       balancing(std::make_shared<const weighted_target_config>(
           std::vector<weighted_target_config::target>{{"a", 3, balancing::round_robin()}}))},
  };
  for (const auto& [json, policy] : policies) {
    const service_config c = parsed(R"({"loadBalancingConfig":[)" + std::string(json) + "]}");
    EXPECT_TRUE(c.data().balance == policy) << json;
    EXPECT_FALSE(c.data().balance == balancing::round_robin()) << json;
  }
}

TEST(ServiceConfig, RefusesBadBalancingPoliciesWithTheirPlace) {
  std::string deep = R"([{"round_robin":{}}])";
  for (int i = 0; i < 16; ++i)
    deep = R"([{"random_subsetting_experimental":{"subsetSize":1,"childPolicy":)" + deep + "}}]";
  const std::pair<std::string, const char*> bad[] = {
      {R"([{"weighted_round_robin":{"errorUtilizationPenalty":-1}}])",
       "loadBalancingConfig[0].weighted_round_robin is invalid: errorUtilizationPenalty"},
      {R"([{"ring_hash_experimental":{"minRingSize":0}}])", "minRingSize of ring_hash must be at least 1"},
      {R"([{"ring_hash_experimental":{"minRingSize":5000}}])", "must not be above maxRingSize"},
      {R"([{"ring_hash_experimental":{"requestHashHeader":"a-bin"}}])", "requestHashHeader of ring_hash"},
      {R"([{"random_subsetting_experimental":{"childPolicy":[{"round_robin":{}}]}}])", "requires subsetSize"},
      {R"([{"random_subsetting_experimental":{"subsetSize":0}}])", "subsetSize must be at least 1"},
      {R"([{"round_robin":{"slowStartConfig":{}}}])", "slowStartConfig requires slowStartWindow"},
      {R"([{"round_robin":{"slowStartConfig":{"slowStartWindow":"1s","aggression":0}}}])", "aggression"},
      {R"([{"round_robin":{"slowStartConfig":{"slowStartWindow":"1s","minWeightPercent":101}}}])",
       "minWeightPercent"},
      {R"([{"priority_experimental":{"children":{},"priorities":["a"]}}])",
       "priorities[0] is not the name of a child"},
      {R"([{"priority_experimental":{"children":{},"priorities":[]}}])", "at least one name"},
      {R"([{"priority_experimental":{"children":{"a":{"config":[{"round_robin":{}}]}},"priorities":["a","a"]}}])",
       "priorities[1] is a duplicate"},
      {R"([{"weighted_target_experimental":{"targets":{}}}])", "at least one target"},
      {R"([{"weighted_target_experimental":{"targets":{"a":{"weight":0}}}}])", "weight must be at least 1"},
      {R"([{"weighted_target_experimental":{"targets":{"a":{"weight":4294967295,"childPolicy":[{"round_robin":{}}]},)"
       R"("b":{"weight":1,"childPolicy":[{"round_robin":{}}]}}}}])",
       "targets has weights whose sum exceeds 4294967295"},
      // Names are compared whole.
      {R"([{"priority_experimental":{"children":{"a":{"config":[{"round_robin":{}}]}},"priorities":["a\u0000b"]}}])",
       "priorities[0] is not the name of a child"},
      {R"([{"round_robin\u0000":{}}])", "names no known policy"},
      {R"([{"random_subsetting_experimental":{"subsetSize":2}}])", "requires childPolicy"},
      {R"([{"outlier_detection_experimental":{"maxEjectionPercent":101,"childPolicy":[{"round_robin":{}}]}}])",
       "maxEjectionPercent"},
      {R"([{"outlier_detection_experimental":{"childPolicy":[{"outlier_detection_experimental":{}}]}}])",
       "stands below another outlier_detection"},
      {R"([{"outlier_detection_experimental":{"childPolicy":[{"unknown":{}}]}}])",
       "childPolicy names no known policy"},
      {R"([{"rls_experimental":{}}])", "names no known policy"},  // decision 0020
      {deep, "is nested more than 16 policies deep"},
  };
  for (const auto& [json, reason] : bad) {
    const auto c = service_config::parse(R"({"loadBalancingConfig":)" + json + "}");
    ASSERT_FALSE(c.ok()) << json;
    EXPECT_NE(std::string(c.status().message()).find(reason), std::string::npos) << c.status().to_string();
  }
}

// Each child of weighted_target has connections to all servers.
TEST(ServiceConfig, LimitsItsPoliciesAndItsSize) {
  const auto with_policies = [](int n) {
    std::string targets;
    for (int i = 1; i < n; ++i)
      targets += (i > 1 ? ",\"t" : "\"t") + std::to_string(i) +
                 R"(":{"weight":1,"childPolicy":[{"round_robin":{}}]})";
    return service_config::parse(R"({"loadBalancingConfig":[{"weighted_target_experimental":{"targets":{)" +
                                 targets + "}}}]}");
  };
  EXPECT_EQ(with_policies(32).status(), status());
  EXPECT_NE(std::string(with_policies(33).status().message()).find("is one of more than 32 policies"),
            std::string::npos);
  const auto of_size = [](std::size_t n) {
    std::string text = R"({"methodConfig":[]})";
    text.resize(n, ' ');
    return service_config::parse(text);
  };
  EXPECT_EQ(of_size(256 * 1024).status(), status());
  EXPECT_NE(std::string(of_size(256 * 1024 + 1).status().message()).find("more than 256 KiB"),
            std::string::npos);
}

TEST(ServiceConfig, TakesTheOldNameOfABalancingPolicy) {
  const service_config c = parsed(R"({"loadBalancingPolicy":"ROUND_ROBIN"})");
  ASSERT_EQ(c.load_balancing().size(), 1u);
  EXPECT_EQ(c.load_balancing()[0].name(), "round_robin");
}

TEST(ServiceConfig, NamesTheServiceToAskForItsHealth) {
  EXPECT_EQ(*parsed(R"({"healthCheckConfig":{"serviceName":""}})").health_check_service(), "");
  EXPECT_EQ(*parsed(R"({"healthCheckConfig":{"serviceName":"a.S"}})").health_check_service(), "a.S");
  EXPECT_EQ(parsed(R"({"healthCheckConfig":{}})").health_check_service(), nullptr);
}

TEST(ServiceConfig, PassesOverWhatItDoesNotKnow) {
  parsed(
      R"({"futureField":{"x":1},"methodConfig":[{"name":[{"service":"s"}],"other":null,"timeout":null}]})");
}

TEST(ServiceConfig, ReadsDurationsToTheNanosecond) {
  const auto time_of = [](const char* text) {
    return *method_of(
                method_configs(parsed(with_method("\"timeout\":\"" + std::string(text) + "\"")), nullptr))
                .timeout;
  };
  EXPECT_EQ(time_of("0.000000001s"), 1ns);
  EXPECT_EQ(time_of("3s"), 3s);
  EXPECT_EQ(time_of("0s"), 0s);
  EXPECT_EQ(time_of("315576000000s"), duration::max());
}

// An invalid config, and the message of its status.
struct broken {
  const char* json;
  const char* reason;
};
class BrokenServiceConfig : public testing::TestWithParam<broken> {};

TEST_P(BrokenServiceConfig, IsRefusedWithTheFieldsName) {
  const auto c = service_config::parse(GetParam().json);
  EXPECT_EQ(c.status().code(), status_code::invalid_argument);
  EXPECT_EQ(c.status().message(), "service config: " + std::string(GetParam().reason));
}

#define RETRY(fields) R"({"methodConfig":[{"name":[],"retryPolicy":{)" fields "}}]}"
#define AT_RETRY "methodConfig[0].retryPolicy"
INSTANTIATE_TEST_SUITE_P(
    Each, BrokenServiceConfig,
    testing::Values(
        broken{"", "it is not valid JSON: parse error at byte 1"},
        broken{"{\"a\":1,}", "it is not valid JSON: parse error at byte 8"},
        broken{"[]", "must be an object"}, broken{R"({"a":1,"a":2})", "duplicate key \"a\""},
        broken{R"({"a":1e999})", "a number is too large"},
        broken{R"({"methodConfig":{}})", "methodConfig must be an array"},
        broken{R"({"methodConfig":[1]})", "methodConfig[0] must be an object"},
        broken{R"({"methodConfig":[{"timeout":1}]})", "methodConfig[0].timeout must be a string"},
        broken{R"({"methodConfig":[{"timeout":"1"}]})",
               "methodConfig[0].timeout must be a duration such as \"1.5s\""},
        broken{R"({"methodConfig":[{"timeout":"-1s"}]})",
               "methodConfig[0].timeout must be a duration such as \"1.5s\""},
        broken{R"({"methodConfig":[{"timeout":"1.s"}]})",
               "methodConfig[0].timeout must be a duration such as \"1.5s\""},
        broken{R"({"methodConfig":[{"timeout":"1.0000000001s"}]})",
               "methodConfig[0].timeout must be a duration such as \"1.5s\""},
        broken{R"({"methodConfig":[{"timeout":"315576000001s"}]})",
               "methodConfig[0].timeout exceeds the maximum duration, 315576000000s"},
        broken{R"({"methodConfig":[{"waitForReady":"yes"}]})",
               "methodConfig[0].waitForReady must be true or false"},
        broken{R"({"methodConfig":[{"maxRequestMessageBytes":-1}]})",
               "methodConfig[0].maxRequestMessageBytes must be a whole number from 0 to 4294967295"},
        broken{R"({"methodConfig":[{"name":[{"method":"M"}]}]})",
               "methodConfig[0].name[0] has a method without a service"},
        broken{R"({"methodConfig":[{"name":[{"service":"a"}]},{"name":[{},{"service":"a"}]}]})",
               "methodConfig[1].name[1] is a duplicate of an earlier name"},
        broken{RETRY(""), AT_RETRY " requires maxAttempts"},
        broken{RETRY(R"("maxAttempts":1)"), AT_RETRY ".maxAttempts must be at least 2"},
        broken{RETRY(R"("maxAttempts":2.5)"),
               AT_RETRY ".maxAttempts must be a whole number from 0 to 4294967295"},
        broken{RETRY(R"("maxAttempts":2,"initialBackoff":"0s")"),
               AT_RETRY ".initialBackoff must be more than 0"},
        broken{RETRY(R"("maxAttempts":2,"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":0)"),
               AT_RETRY ".backoffMultiplier must be more than 0"},
        broken{RETRY(R"("maxAttempts":2,"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":1)"),
               AT_RETRY " requires retryableStatusCodes"},
        broken{RETRY(R"("maxAttempts":2,"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":1,
                        "retryableStatusCodes":[])"),
               AT_RETRY ".retryableStatusCodes must name at least one status code"},
        broken{RETRY(R"("maxAttempts":2,"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":1,
                        "retryableStatusCodes":["AWAY"])"),
               AT_RETRY ".retryableStatusCodes[0] is not a valid status code"},
        broken{R"({"methodConfig":[{"hedgingPolicy":{"maxAttempts":2,"nonFatalStatusCodes":[17]}}]})",
               "methodConfig[0].hedgingPolicy.nonFatalStatusCodes[0] is not a valid status code"},
        broken{R"({"methodConfig":[{"hedgingPolicy":{"maxAttempts":2},"retryPolicy":{"maxAttempts":2,
                  "initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":1,"retryableStatusCodes":[1]}}]})",
               "methodConfig[0] has both a retryPolicy and a hedgingPolicy: remove one"},
        broken{R"({"retryThrottling":{"maxTokens":1001,"tokenRatio":1}})",
               "retryThrottling.maxTokens must be from 1 to 1000"},
        broken{R"({"retryThrottling":{"maxTokens":0,"tokenRatio":1}})",
               "retryThrottling.maxTokens must be from 1 to 1000"},
        broken{R"({"retryThrottling":{"maxTokens":1,"tokenRatio":0.0009}})",
               "retryThrottling.tokenRatio must be at least 0.001"},
        broken{R"({"connectionScaling":{"maxConnectionsPerSubchannel":0}})",
               "connectionScaling.maxConnectionsPerSubchannel must be at least 1"},
        broken{R"({"connectionScaling":{"maxConnectionsPerSubchannel":1.5}})",
               "connectionScaling.maxConnectionsPerSubchannel must be a whole number from 0 to 4294967295"},
        broken{R"({"connectionScaling":3})", "connectionScaling must be an object"},
        broken{R"({"loadBalancingConfig":[{"a":{},"b":{}}]})",
               "loadBalancingConfig[0] must have one field, the policy's name"},
        broken{R"({"loadBalancingConfig":[{"a":{}}]})", "loadBalancingConfig names no known policy"},
        broken{R"({"loadBalancingPolicy":"a"})", "loadBalancingPolicy names no known policy"},
        broken{R"({"loadBalancingConfig":[{"least_request_experimental":{"choiceCount":1}}]})",
               "loadBalancingConfig[0].least_request_experimental.choiceCount must be at least 2"},
        broken{R"({"loadBalancingConfig":[{"a":1}]})", "loadBalancingConfig[0].a must be an object"}));

TEST(ServiceConfig, ThatIsNestedTooDeepIsRefused) {
  const std::string json =
      R"({"loadBalancingConfig":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  EXPECT_EQ(service_config::parse(json).status().message(),
            "service config: it is nested more than 64 levels deep");
}

}  // namespace
}  // namespace coracle::client::service_config_test
