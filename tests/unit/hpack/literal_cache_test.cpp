#include "hpack/literal_cache.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::hpack::literal_cache_test {
namespace {

TEST(HpackLiteralCache, AnEmptyCacheHoldsNoMemory) {
  literal_cache cache;
  EXPECT_EQ(cache.find(as_bytes("raw")), nullptr);
  EXPECT_EQ(cache.capacity_bytes(), 0u);
}

TEST(HpackLiteralCache, WhatIsStoredIsFoundByItsRawBytes) {
  literal_cache cache;
  std::string raw = "raw";
  std::string name = "name";
  std::string value = "value";
  ASSERT_NE(cache.store(as_bytes(raw), name, value, false), nullptr);
  raw[0] = name[0] = value[0] = 'X';
  literal_cache::entry* e = cache.find(as_bytes("raw"));
  ASSERT_NE(e, nullptr);
  EXPECT_EQ(e->name, "name");
  EXPECT_EQ(e->value, "value");
  EXPECT_EQ(cache.find(as_bytes(raw)), nullptr);
  EXPECT_EQ(cache.find(as_bytes("ra")), nullptr);
}

TEST(HpackLiteralCache, AStaticNameIsNotCopied) {
  literal_cache cache;
  static constexpr std::string_view name = ":path";
  EXPECT_EQ(cache.store(as_bytes("raw"), name, "/", true)->name.data(), name.data());
}

TEST(HpackLiteralCache, TooLongFieldsAreRefused) {
  literal_cache cache;
  const std::string raw(literal_cache::raw_bytes_max + 1, 'r');
  EXPECT_EQ(cache.store(as_bytes(raw), "n", "v", false), nullptr);
  EXPECT_EQ(cache.find(as_bytes(raw)), nullptr);
  const std::string text(literal_cache::text_bytes_max, 't');
  EXPECT_EQ(cache.store(as_bytes("raw"), "n", text, false), nullptr);
  EXPECT_NE(cache.store(as_bytes("raw"), ":path", text, true), nullptr);
  EXPECT_EQ(cache.store({}, "n", "v", false), nullptr);
}

TEST(HpackLiteralCache, AnEntryThatIsStoredAgainHasNoMark) {
  literal_cache cache;
  cache.store(as_bytes("raw"), "n", "v", false)->mark = 7;
  EXPECT_EQ(cache.find(as_bytes("raw"))->mark, 7u);
  EXPECT_EQ(cache.store(as_bytes("raw"), "n", "v", false)->mark, 0u);
}

}  // namespace
}  // namespace coracle::hpack::literal_cache_test
