#include "protocol/web/media_type.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::protocol::web::media_type_test {
namespace {

TEST(MediaType, IsSplitIntoItsParts) {
  const auto m = parse_media_type(" Application/JSON ; charset=\"utf-8\" ");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->type, "Application");
  EXPECT_EQ(m->subtype, "JSON");
  EXPECT_TRUE(m->is("application", "json"));
  EXPECT_FALSE(m->is("application", "jso"));
  EXPECT_FALSE(m->is("text", "json"));
  EXPECT_EQ(m->parameters, "; charset=\"utf-8\"");
}

TEST(MediaType, AQuotedStringHasBytesAboveAsciiButNoControlCharacters) {
  EXPECT_TRUE(parse_media_type("text/plain; title=\"b\xc3\xbc\tcher\""));
  EXPECT_FALSE(parse_media_type("text/plain; title=\"a\x01z\""));
  EXPECT_FALSE(parse_media_type("text/plain; title=\"a\x7fz\""));
}
TEST(MediaType, OfARangeIsAccepted) {
  ASSERT_TRUE(parse_media_type("*/*"));
  EXPECT_TRUE(parse_media_type("text/*;q=0.5")->is("text", "*"));
}

TEST(MediaType, ThatBreaksTheGrammarIsNone) {
  for (const std::string_view text :
       {"", "/", "application", "application/", "/json", "a b/c", "a/b c", "a/b;", "a/b; ;x=1",
        "a/b;x=", "a/b;=1", "a/b;x", "a/b;x=\"", "a/b;x=\"\\\"", "a/b;x=1 y=2", "a/b;x=\"\x01\"", "a/b,c/d",
        "a/b;x=1,"}) {
    const bool only_a_separator = text == "a/b;" || text == "a/b; ;x=1";  // RFC 9110 5.6.6
    EXPECT_EQ(parse_media_type(text).has_value(), only_a_separator) << text;
  }
}

TEST(MediaType, ParametersAreFoundByNameInAnyCase) {
  const auto m = parse_media_type(R"(a/b;x=1; Y="two; \"x=3\"" ;z="";x=4)");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->parameter("X"), "1");
  EXPECT_EQ(m->parameter("y"), R"(two; "x=3")");
  EXPECT_EQ(m->parameter("z"), "");
  EXPECT_EQ(m->parameter("w"), std::nullopt);
  EXPECT_EQ(parse_media_type("a/b")->parameter("x"), std::nullopt);
}

TEST(ListElements, AreTakenOneByOneWithoutTheirWhitespace) {
  std::string_view list = " a ,,\tb\t, c d";
  std::string all;
  while (!list.empty()) all.append(take_list_element(list)).append("|");
  EXPECT_EQ(all, "a||b|c d|");
}

}  // namespace
}  // namespace coracle::protocol::web::media_type_test
