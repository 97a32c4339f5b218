#include "telemetry/traces/sampler_rule.hpp"

#include "telemetry/traces/trace_rules.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

namespace coracle::telemetry_internal::sampler_test {
namespace {

using namespace std::chrono_literals;

sampling_request root(std::uint64_t random, std::string_view method = "p.S/M", time_point now = {}) {
  return {false, false, method, random, now};
}
sampling_request child(bool sampled, std::uint64_t random = 0) {
  return {true, sampled, "p.S/M", random, {}};
}

TEST(sampler, RatiosDecideByTheTraceIdAlone) {
  std::mt19937_64 random(1);
  loop_sampler one(sampler::ratio(0.01));
  loop_sampler same(sampler::ratio(0.01));
  loop_sampler more(sampler::ratio(0.1));
  int sampled = 0;
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t r = random();
    const bool is = one.decide(root(r)).sampled;
    sampled += is ? 1 : 0;
    EXPECT_EQ(same.decide(root(r)).sampled, is);
    EXPECT_EQ(one.decide(root(r ^ 0xff00000000000000)).sampled, is);  // only the low 56 bits count
    EXPECT_TRUE(!is || more.decide(root(r)).sampled);  // a larger share contains a smaller one
  }
  EXPECT_NEAR(sampled, 1000, 150);
}

TEST(sampler, TheEndsOfARatioAreAllAndNone) {
  const std::uint64_t least = 0;
  const std::uint64_t most = ~std::uint64_t{0};
  for (const double all : {1.0, 2.0})
    EXPECT_TRUE(loop_sampler(sampler::ratio(all)).decide(root(least)).sampled);
  for (const double none : {0.0, -1.0, std::nan("")})
    EXPECT_FALSE(loop_sampler(sampler::ratio(none)).decide(root(most)).sampled);
  EXPECT_TRUE(loop_sampler(sampler::ratio(1e-30)).decide(root(most)).sampled);
  EXPECT_TRUE(loop_sampler(sampler::always_on()).decide(root(least)).sampled);
  EXPECT_FALSE(loop_sampler(sampler::always_off()).decide(root(most)).sampled);
}

TEST(sampler, AThresholdIsWrittenWithoutTrailingZeros) {
  EXPECT_EQ(threshold_text(0), "0");
  EXPECT_EQ(threshold_text(std::uint64_t{1} << 55), "8");  // a half
  EXPECT_EQ(threshold_text((std::uint64_t{1} << 56) - (std::uint64_t{1} << 46)), "ffc");  // 1/1024
  EXPECT_EQ(threshold_text(1), "00000000000001");
  EXPECT_EQ(loop_sampler(sampler::ratio(0.5)).decide(root(~std::uint64_t{0})).threshold,
            std::int64_t{1} << 55);
  EXPECT_EQ(loop_sampler(sampler::always_on()).decide(root(0)).threshold, -1);
}

TEST(sampler, AParentDecidesWhereThereIsOne) {
  loop_sampler s(sampler::parent_based(sampler::always_off()));
  EXPECT_TRUE(s.decide(child(true)).sampled);
  EXPECT_FALSE(s.decide(child(false)).sampled);
  EXPECT_FALSE(s.decide(root(~std::uint64_t{0})).sampled);
  EXPECT_TRUE(loop_sampler(sampler::always_on()).decide(child(false)).sampled);
  EXPECT_FALSE(loop_sampler(sampler::ratio(0.5)).decide(child(true, 0)).sampled);
}

TEST(sampler, ARateIsATokenBucketOfOneSecond) {
  loop_sampler s(sampler::rate_limited(10));
  const time_point begin{100s};
  const auto sampled_of = [&](int n, time_point at) {
    int sampled = 0;
    for (int i = 0; i < n; ++i) sampled += s.decide(root(0, "p.S/M", at)).sampled ? 1 : 0;
    return sampled;
  };
  EXPECT_EQ(sampled_of(100, begin), 10);
  EXPECT_EQ(sampled_of(100, begin), 0);
  EXPECT_EQ(sampled_of(100, begin + 500ms), 5);
  EXPECT_EQ(sampled_of(100, begin + 1h), 10);
  loop_sampler rare(sampler::rate_limited(0.1));
  EXPECT_TRUE(rare.decide(root(0, "m", begin)).sampled);
  EXPECT_FALSE(rare.decide(root(0, "m", begin + 9s)).sampled);
  EXPECT_TRUE(rare.decide(root(0, "m", begin + 20s)).sampled);
  EXPECT_FALSE(loop_sampler(sampler::rate_limited(0)).decide(root(0, "m", begin)).sampled);
}

TEST(sampler, TheFirstRuleOfAMethodApplies) {
  loop_sampler s(sampler::by_method({{"p.S/Health", sampler::always_off()},
                                     {"p.S/*", sampler::always_on()},
                                     {"p.Other/M", sampler::always_on()}},
                                    sampler::always_off()));
  EXPECT_FALSE(s.decide(root(0, "p.S/Health")).sampled);
  EXPECT_TRUE(s.decide(root(0, "p.S/M")).sampled);
  EXPECT_TRUE(s.decide(root(0, "p.Other/M")).sampled);
  EXPECT_FALSE(s.decide(root(0, "p.Other/N")).sampled);
  EXPECT_FALSE(s.decide(root(0, "p.St/M")).sampled);
}

TEST(sampler, TheFastPathKnowsOneThresholdForAllRoots) {
  EXPECT_EQ(loop_sampler(sampler::parent_based(sampler::always_on())).root_threshold(), 0);
  EXPECT_EQ(loop_sampler(sampler::always_off()).root_threshold(), static_cast<std::int64_t>(never_sampled));
  EXPECT_EQ(loop_sampler(sampler::rate_limited(1)).root_threshold(), -1);
  EXPECT_EQ(loop_sampler(sampler::by_method({}, sampler::always_on())).root_threshold(), -1);
}

TEST(sampler, VariablesNameSamplers) {
  EXPECT_TRUE(loop_sampler(*sampler::parse("always_on")).decide(child(false)).sampled);
  EXPECT_FALSE(loop_sampler(*sampler::parse("parentbased_always_on")).decide(child(false)).sampled);
  EXPECT_FALSE(loop_sampler(*sampler::parse("parentbased_always_off")).decide(root(0)).sampled);
  EXPECT_EQ(loop_sampler(*sampler::parse("parentbased_traceidratio", "0.5")).root_threshold(),
            std::int64_t{1} << 55);
  EXPECT_EQ(loop_sampler(*sampler::parse("traceidratio")).root_threshold(), 0);
  for (const auto& [name, argument] :
       {std::pair("jaeger_remote", ""), std::pair("traceidratio", "1.5"), std::pair("traceidratio", "half"),
        std::pair("traceidratio", "nan"), std::pair("parentbased_", "")})
    EXPECT_EQ(sampler::parse(name, argument).status().code(), status_code::invalid_argument)
        << name << argument;
}

TEST(sampler, AVariableChoosesTheConventions) {
  EXPECT_EQ(conventions_of(""), rpc_conventions::grpc);
  EXPECT_EQ(conventions_of("http,database"), rpc_conventions::grpc);
  EXPECT_EQ(conventions_of("http,rpc"), rpc_conventions::stable);
  EXPECT_EQ(conventions_of("rpc/dup, rpc"), rpc_conventions::both);
}

}  // namespace
}  // namespace coracle::telemetry_internal::sampler_test
