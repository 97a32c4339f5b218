#include "server/admission/rate_limits.hpp"

#include "coracle/base/usage_error.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::server_internal::rate_limits_test {
namespace {

using namespace std::chrono_literals;
using caller = rate_limit::caller;

constexpr std::array<std::string_view, 3> paths{"/shop.Orders/Place", "/shop.Orders/List",
                                                "/shop.OrdersArchive/List"};
constexpr std::uint32_t place = 0;
constexpr std::uint32_t list = 1;
constexpr std::uint32_t archive = 2;
constexpr std::uint32_t unregistered = 3;

rate_limit limit_of(std::string method, double per_second, caller per = caller::all, std::string name = {}) {
  rate_limit l(per_second);
  if (!method.empty()) l.methods = {std::move(method)};
  l.per = per;
  l.metadata_name = std::move(name);
  return l;
}

class limits : public ::testing::Test {
 protected:
  void use(std::vector<rate_limit> all) {
    rate_limits::require_valid(all);
    limits_.emplace(all, paths);
    limits_->seed(1);
  }
  rate_limits::refusal call(std::uint32_t method, const char* from = "10.0.0.1:1",
                            const metadata& with = {}) {
    const net::address peer = *net::address::parse(from);
    return limits_->take(method, {peer, nullptr, with}, now_);
  }
  // How many of ten calls are accepted.
  int accepted(std::uint32_t method, const char* from = "10.0.0.1:1", const metadata& with = {}) {
    int n = 0;
    for (int i = 0; i < 10; ++i) n += !call(method, from, with).why;
    return n;
  }
  time_point now_{1h};
  std::optional<rate_limits> limits_;
};

TEST_F(limits, ALimitForAllCountsAllMethods) {
  use({rate_limit(3)});
  EXPECT_EQ(accepted(place), 3);
  EXPECT_EQ(accepted(list), 0);
  EXPECT_EQ(accepted(unregistered), 0);
}

TEST_F(limits, ALimitMayBeOfAServiceOrAMethod) {
  use({limit_of("/shop.Orders/", 4), limit_of("/shop.Orders/Place", 1)});
  EXPECT_EQ(accepted(place), 1);
  EXPECT_EQ(accepted(list), 3) << "the call of Place counts, too, and those that were refused do not";
  EXPECT_EQ(accepted(archive), 10) << "another service, whose name begins with it";
  EXPECT_EQ(accepted(unregistered), 10);
  EXPECT_TRUE(limits_->unknown().empty());
}

TEST_F(limits, TheWaitIsThatOfTheSlowest) {
  use({rate_limit(10), limit_of("/shop.Orders/", 0.5)});
  EXPECT_EQ(accepted(place), 1);
  EXPECT_EQ(call(place).wait, 2s);
  EXPECT_EQ(accepted(archive), 9) << "what the second limit refuses takes nothing of the first";
}

// Callers that wait for one token do not come back together.
TEST_F(limits, CallersThatShareALimitWaitForDifferentTimes) {
  use({rate_limit(1)});
  EXPECT_EQ(accepted(place), 1);
  const rate_limits::refusal shared = call(place);
  EXPECT_EQ(shared.wait_ms(0), 1000);
  EXPECT_EQ(shared.wait_ms(57), 1057);
  EXPECT_EQ(shared.wait_ms(~0ull) / 100, 10);
  use({limit_of("", 1, caller::client)});
  EXPECT_EQ(accepted(place), 1);
  EXPECT_EQ(call(place).wait_ms(57), 1000);
}

TEST_F(limits, ANameOfMetadataThatNoCallCanHaveIsRefused) {
  for (const char* name : {"X-Tenant", "x tenant", ":path", "grpc-timeout", "content-type"})
    EXPECT_THROW(use({limit_of("", 1, caller::metadata, name)}), usage_error) << name;
}

TEST_F(limits, ANameThatNothingHasIsReported) {
  use({limit_of("/shop.Order/", 4), limit_of("/shop.Orders/Place", 4)});
  EXPECT_EQ(limits_->unknown(), std::vector<std::string>{"/shop.Order/"});
  EXPECT_EQ(accepted(list), 10);
}

TEST_F(limits, EachClientHasItsOwn) {
  use({limit_of("", 2, caller::client)});
  EXPECT_EQ(accepted(place, "10.0.0.1:1"), 2);
  EXPECT_EQ(accepted(place, "10.0.0.1:2"), 0) << "another connection of the same";
  EXPECT_EQ(accepted(place, "10.0.0.2:1"), 2);
}

TEST_F(limits, EachValueOfMetadataHasItsOwn) {
  use({limit_of("", 2, caller::metadata, "x-tenant")});
  metadata one;
  one.add("x-tenant", "one");
  metadata two;
  two.add("x-tenant", "two");
  EXPECT_EQ(accepted(place, "10.0.0.1:1", one), 2);
  EXPECT_EQ(accepted(place, "10.0.0.2:1", one), 0);
  EXPECT_EQ(accepted(place, "10.0.0.1:1", two), 2);
  EXPECT_EQ(accepted(place), 2) << "calls without one share one";
}

// Whatever the order of the options.
TEST_F(limits, WhoExceedsItsOwnLimitTakesNothingFromTheLimitForAll) {
  use({rate_limit(5), limit_of("", 2, caller::client)});
  EXPECT_EQ(accepted(place, "10.0.0.1:1"), 2);
  EXPECT_EQ(accepted(place, "10.0.0.2:1"), 2);
  EXPECT_EQ(accepted(place, "10.0.0.3:1"), 1);
}

TEST_F(limits, ARefusalSaysWhatAndUntilWhen) {
  use({limit_of("", 2.5, caller::metadata, "x-tenant")});
  EXPECT_EQ(accepted(place), 2);
  now_ += 399us;
  const rate_limits::refusal r = call(place);
  ASSERT_NE(r.why, nullptr);
  EXPECT_EQ(r.why->outcome().code(), status_code::resource_exhausted);
  EXPECT_EQ(r.why->outcome().message(),
            "the rate limit of each caller is exceeded (see server_options::rate_limits)");
  EXPECT_EQ(r.wait, 200ms - 399us);
  EXPECT_EQ(r.wait_ms(0), 200) << "rounded up";
  now_ += r.wait;
  EXPECT_EQ(call(place).why, nullptr);
}

TEST_F(limits, InvalidOnesAreUsageErrors) {
  for (const double rate :
       {0.0, -1.0, 1e8, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    EXPECT_THROW(use({rate_limit(rate)}), usage_error) << rate;
  for (const double burst : {-1.0, 0.5, 1e10, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(use({rate_limit(1, burst)}), usage_error) << burst;
  EXPECT_THROW(use({limit_of("", 1, caller::metadata)}), usage_error);
  EXPECT_THROW(use({limit_of("", 1, caller::client, "x-tenant")}), usage_error);
  EXPECT_NO_THROW(use({rate_limit(0.001, 1)}));
}

TEST_F(limits, ALimitThatStaysKeepsItsTokensForOneOfItsKind) {
  const rate_limit same = limit_of("/shop.Orders/Place", 3);
  use({same});
  EXPECT_EQ(accepted(place), 3);
  const rate_limits before(std::vector{same}, paths, &*limits_);
  rate_limits twice(std::vector{same, same}, paths, &before);
  twice.seed(2);
  const net::address peer = *net::address::parse("10.0.0.1:1");
  EXPECT_TRUE(twice.take(place, {peer, nullptr, {}}, now_).why) << "the first one has no tokens left";
  rate_limits other(std::vector{limit_of("/shop.Orders/Place", 4)}, paths, &before);
  EXPECT_FALSE(other.take(place, {peer, nullptr, {}}, now_).why);
}

}  // namespace
}  // namespace coracle::server_internal::rate_limits_test
