#include "coracle/rpc/criticality.hpp"
#include "coracle/rpc/impl/propagated_context.hpp"

#include <gtest/gtest.h>

namespace coracle::rpc {
namespace {

metadata with(std::string_view level) {
  metadata m;
  m.add_received("x-request-criticality", level);
  return m;
}

TEST(criticality, NamesAreThoseOfTheSreBookAndAreReadAsTheyAreWritten) {
  for (const auto c : {criticality::sheddable, criticality::sheddable_plus, criticality::critical,
                       criticality::critical_plus})
    EXPECT_EQ(parse_criticality(to_string(c)), c) << to_string(c);
  EXPECT_EQ(to_string(criticality::sheddable_plus), "SHEDDABLE_PLUS");
  for (const auto* other : {"", "critical", "CRITICAL ", "CRITICAL+", "4"})
    EXPECT_EQ(parse_criticality(other), std::nullopt) << other;
}

TEST(criticality, ARequestWithoutAKnownLevelIsCritical) {
  EXPECT_EQ(criticality_of({}, criticality::critical_plus), criticality::critical);
  EXPECT_EQ(criticality_of(with("URGENT"), criticality::critical_plus), criticality::critical);
}

TEST(criticality, ALevelCountsAsFarAsTheServerTrustsIt) {
  EXPECT_EQ(criticality_of(with("CRITICAL_PLUS"), criticality::critical_plus), criticality::critical_plus);
  EXPECT_EQ(criticality_of(with("CRITICAL_PLUS"), criticality::critical), criticality::critical);
  EXPECT_EQ(criticality_of(with("SHEDDABLE"), criticality::critical), criticality::sheddable);
  EXPECT_EQ(criticality_of({}, criticality::sheddable), criticality::sheddable);
}

TEST(criticality, ALevelOfTheCallReplacesWhatItWouldInherit) {
  metadata sent;
  propagate(coro::no_environment, {}, criticality::sheddable, sent);
  EXPECT_EQ(sent.find("x-request-criticality"), "SHEDDABLE");
  sent = {};
  propagate(coro::no_environment, with("CRITICAL_PLUS"), criticality::sheddable, sent);
  EXPECT_TRUE(sent.empty()) << "the call's own metadata come first";
  propagate(coro::no_environment, {}, criticality::critical, sent);
  EXPECT_TRUE(sent.empty()) << "a call without it is critical";
}

}  // namespace
}  // namespace coracle::rpc
