#include "http/field_rules.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::http::field_rules_test {
namespace {

constexpr std::string_view name_characters = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";

TEST(FieldRules, ANameIsALowerCaseToken) {
  for (int i = 0; i < 256; ++i) {
    const char c = static_cast<char>(i);
    const field_error expected = name_characters.find(c) != std::string_view::npos ? field_error::none
                                 : c >= 'A' && c <= 'Z' ? field_error::name_upper_case
                                                        : field_error::name_character;
    EXPECT_EQ(check_field_name(std::string(1, c)), expected) << i;
    std::string longer = "some-name-?-more";
    longer[10] = c;
    EXPECT_EQ(check_field_name(longer), expected) << i;
  }
  EXPECT_EQ(check_field_name(""), field_error::name_empty);
}

TEST(FieldRules, AValueHasNoNulCrOrLfAtAnyPlace) {
  for (std::size_t length = 0; length < 40; ++length) {
    const std::string fine(length, 'v');
    EXPECT_TRUE(valid_value_characters(fine));
    for (std::size_t at = 0; at < length; ++at) {
      for (int i = 0; i < 256; ++i) {
        std::string value = fine;
        value[at] = static_cast<char>(i);
        EXPECT_EQ(valid_value_characters(value), i != 0 && i != '\r' && i != '\n') << i << " at " << at;
      }
    }
  }
}

TEST(FieldRules, EdgesAreWhiteSpaceOnlyWhenTheyAre) {
  for (const char* value : {" a", "a ", "\ta", "a\t", " "}) EXPECT_TRUE(has_edge_whitespace(value));
  for (const char* value : {"", "a", "a b", "a\tb"}) EXPECT_FALSE(has_edge_whitespace(value));
}

TEST(FieldRules, AMethodIsATokenOfEitherCase) {
  for (const char* text : {"GET", "get", "M-SEARCH", "!"}) EXPECT_TRUE(valid_token(text));
  for (const char* text : {"", "GE T", "G\x01", "G:T", "\xff"}) EXPECT_FALSE(valid_token(text));
}

TEST(FieldRules, ContentLengthIsAPlainNumberBelow2To64) {
  EXPECT_EQ(parse_content_length("0"), 0u);
  EXPECT_EQ(parse_content_length("007"), 7u);
  EXPECT_EQ(parse_content_length("18446744073709551615"), 18446744073709551615u);
  for (const char* value :
       {"", "18446744073709551616", "99999999999999999999", "-1", "+1", "1,1", " 1", "1 ", "0x1", "1.0"})
    EXPECT_EQ(parse_content_length(value), std::nullopt) << value;
}

TEST(FieldRules, EveryErrorHasItsOwnText) {
  for (int i = 0; i <= static_cast<int>(field_error::status_missing); ++i)
    for (int j = 0; j < i; ++j)
      EXPECT_NE(to_string(static_cast<field_error>(i)), to_string(static_cast<field_error>(j)));
  EXPECT_NE(to_string(field_error::status_missing), "unknown");
}

}  // namespace
}  // namespace coracle::http::field_rules_test
