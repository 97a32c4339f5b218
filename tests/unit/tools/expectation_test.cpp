#include "tools/load/expectation.hpp"

#include "tools/failure.hpp"
#include "tools/load/results.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace coracle::tools::load::expectation_test {
namespace {

using namespace std::chrono_literals;

// 98 calls of 1 to 98 ms within 2 s, and 2 that failed.
results measured() {
  results r;
  for (int ms = 1; ms <= 98; ++ms) r.latency.add(std::chrono::milliseconds(ms));
  r.failed["UNAVAILABLE"].count = r.failed_count = 2;
  r.took = 2s;
  return r;
}

bool met(const char* text) { return expectation(text).judge(measured()).met; }

TEST(Expectation, OfTimes) {
  EXPECT_TRUE(met("p50<51ms"));
  EXPECT_FALSE(met("p50<48ms"));
  EXPECT_TRUE(met("max<=98ms"));
  EXPECT_FALSE(met("max<98ms"));
  EXPECT_TRUE(met("min>=1ms"));
  EXPECT_FALSE(met("min>1ms"));
  EXPECT_TRUE(met("mean<0.05s"));
  EXPECT_TRUE(met(" p99.9 <= 98ms "));
}

TEST(Expectation, OfErrorsAndRates) {
  EXPECT_TRUE(met("errors<3"));
  EXPECT_FALSE(met("errors<2"));
  EXPECT_TRUE(met("errors<=2%"));
  EXPECT_FALSE(met("errors<2%"));
  EXPECT_TRUE(met("rate>=49"));
  EXPECT_FALSE(met("rate>49"));
}

TEST(Expectation, NoTimeIsMetByNoCall) {
  results r;
  r.failed_count = 5;
  const auto verdict = expectation("p99<1h").judge(r);
  EXPECT_FALSE(verdict.met);
  EXPECT_EQ(verdict.found, "unknown, since no call succeeded");
  EXPECT_FALSE(expectation("min>0s").judge(r).met);
  EXPECT_TRUE(expectation("errors>=5").judge(r).met);
}

TEST(Expectation, SaysWhatItFound) {
  EXPECT_EQ(expectation("max<1ms").judge(measured()).found, "98 ms");
  EXPECT_EQ(expectation("errors<1%").judge(measured()).found, "2%");
  EXPECT_EQ(expectation("rate>1").judge(measured()).found, "49/s");
  EXPECT_EQ(expectation("rate>1").judge(measured()).expected, "rate>1");
}

TEST(Expectation, RefusesWhatItDoesNotUnderstand) {
  for (const char* text : {"", "p99", "p99=1ms", "p99<", "p99<20", "p101<1s", "px<1s", "speed>1", "rate>1s",
                           "errors<a%", "<1ms"})
    EXPECT_THROW(expectation{text}, usage_failure) << text;
}

}  // namespace
}  // namespace coracle::tools::load::expectation_test
