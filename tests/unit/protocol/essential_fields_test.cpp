// What a client reads of a response whose header fields exceed its limit.
#include "protocol/grpc/essential_fields.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace coracle::protocol::grpc::essential_fields_test {
namespace {

TEST(EssentialFields, AreTakenOnceEach) {
  essential_fields some;
  std::string_view value = "5";
  EXPECT_TRUE(some.take("grpc-status", value));
  EXPECT_FALSE(some.take("grpc-status", value));
  EXPECT_TRUE(some.take("content-type", value));
  EXPECT_FALSE(some.take("x-much", value));
  EXPECT_FALSE(some.take("grpc-status-details-bin", value));
}

TEST(EssentialFields, HaveShortValues) {
  const std::string large(2000, 'x');
  essential_fields some;
  std::string_view value = large;
  EXPECT_FALSE(some.take("content-type", value));
  EXPECT_TRUE(some.take("grpc-message", value));
  EXPECT_EQ(value.size(), shortened_message_bytes);
}

TEST(ShortenedMessage, IsNotCutWithinAnEscapeOrACharacter) {
  EXPECT_EQ(shortened_message("abc", 3), "abc");
  EXPECT_EQ(shortened_message("abcd", 3), "abc");
  EXPECT_EQ(shortened_message("", 0), "");
  const std::string_view escaped = "ab%C3%A9%E2%82%AC%25c";  // ab\u00e9\u20ac%c
  const std::string_view cuts[] = {"",   "a",        "ab",       "ab",       "ab",       "ab",      "ab",
                                   "ab", "ab%C3%A9", "ab%C3%A9", "ab%C3%A9", "ab%C3%A9", "ab%C3%A9"};
  for (std::size_t n = 0; n < std::size(cuts); ++n) EXPECT_EQ(shortened_message(escaped, n), cuts[n]) << n;
  EXPECT_EQ(shortened_message(escaped, 17), "ab%C3%A9%E2%82%AC");
  EXPECT_EQ(shortened_message(escaped, 19), "ab%C3%A9%E2%82%AC");
  EXPECT_EQ(shortened_message(escaped, 20), "ab%C3%A9%E2%82%AC%25");
  EXPECT_EQ(shortened_message("a\xc3\xa9z", 2), "a");
  EXPECT_EQ(shortened_message("a\xc3\xa9z", 3), "a\xc3\xa9");
}

}  // namespace
}  // namespace coracle::protocol::grpc::essential_fields_test
