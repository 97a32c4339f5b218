#include "coracle/rpc/baggage.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::baggage_test {
namespace {

TEST(baggage, WhatIsSetIsFoundInTheHeader) {
  baggage b;
  EXPECT_TRUE(b.set("tenant", "acme"));
  EXPECT_TRUE(b.set("name", "\xc3\xbc, \"%;"));
  EXPECT_EQ(b.header(), "tenant=acme,name=%C3%BC%2C%20%22%25%3B");
  const baggage back = baggage::parse(b.header());
  EXPECT_EQ(back.find("name"), "\xc3\xbc, \"%;");
  EXPECT_EQ(back.find("none"), std::nullopt);
}

TEST(baggage, PropertiesAreKeptAndOddMembersLeftOut) {
  const baggage b = baggage::parse(" a = 1 ;p=2 , odd, =x, b=2,a=3,(=4");
  EXPECT_EQ(b.header(), "b=2,a=3");
  EXPECT_EQ(baggage::parse("a=1;p=2").find("a"), "1");
  EXPECT_EQ(baggage::parse("a=1;p=2").header(), "a=1;p=2");
}

TEST(baggage, KeysAreTokens) {
  baggage b;
  EXPECT_FALSE(b.set("", "x"));
  EXPECT_FALSE(b.set("a b", "x"));
  EXPECT_FALSE(b.set("a,b", "x"));
  EXPECT_TRUE(b.empty());
}

TEST(baggage, MembersAndBytesAreLimited) {
  baggage many;
  for (std::size_t i = 0; i < baggage::members_max; ++i) EXPECT_TRUE(many.set("k" + std::to_string(i), "v"));
  EXPECT_FALSE(many.set("one-more", "v"));
  EXPECT_TRUE(many.set("k0", "other"));
  baggage large;
  EXPECT_FALSE(large.set("k", std::string(baggage::bytes_max, 'v')));
  EXPECT_TRUE(large.set("k", std::string(baggage::bytes_max - 2, 'v')));
  EXPECT_LE(large.header().size(), baggage::bytes_max);
  EXPECT_FALSE(large.set("more", "v"));
  EXPECT_TRUE(large.set("k", "v"));
  EXPECT_TRUE(baggage::parse(std::string(baggage::bytes_max + 1, 'v')).empty());
  EXPECT_TRUE(baggage::parse(many.header() + ",one-more=v").empty());
}

}  // namespace
}  // namespace coracle::baggage_test
