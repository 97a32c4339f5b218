#include "protocol/web/uri.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace coracle::protocol::web::uri_test {
namespace {

std::optional<std::string> decoded(std::string_view text, uri_part part) {
  std::string out;
  if (!decode(text, part, out)) return std::nullopt;
  return out;
}

TEST(UriDecoding, DependsOnThePart) {
  EXPECT_EQ(decoded("a+b%20c%2Fd", uri_part::path), "a+b c/d");
  EXPECT_EQ(decoded("a+b%20c%2fd", uri_part::path_segments), "a+b c%2fd");
  EXPECT_EQ(decoded("a+b%20c%2Fd", uri_part::query), "a b c/d");
}

TEST(UriDecoding, RefusesBrokenEscapes) {
  for (const std::string_view text : {"%", "%4", "a%", "%zz", "%4g", "%g4", "%%41", "% 41"})
    for (const uri_part part : {uri_part::path, uri_part::path_segments, uri_part::query})
      EXPECT_EQ(decoded(text, part), std::nullopt) << text;
}

TEST(UriDecoding, AppendsToWhatIsThere) {
  std::string out = "x";
  EXPECT_TRUE(decode("%79", uri_part::path, out));
  EXPECT_EQ(out, "xy");
}

TEST(UriEncoding, ComesBackWholeFromPathsAndQueries) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  std::string text;
  encode_uri_component(all, text);
  EXPECT_EQ(text.find_first_of(" +&=/?#\"<>"), std::string::npos);
  EXPECT_EQ(decoded(text, uri_part::path), all);
  EXPECT_EQ(decoded(text, uri_part::query), all);
}

TEST(UriEncoding, KeepsUnreservedCharacters) {
  std::string text;
  encode_uri_component("aZ09-._~", text);
  EXPECT_EQ(text, "aZ09-._~");
}

TEST(RequestTarget, IsSplitAtTheFirstQuestionMark) {
  EXPECT_EQ(split_target("/a").path, "/a");
  EXPECT_EQ(split_target("/a").query, "");
  EXPECT_EQ(split_target("/a?b?c").path, "/a");
  EXPECT_EQ(split_target("/a?b?c").query, "b?c");
}

TEST(Query, IsSplitIntoPairs) {
  std::string_view query = "&a=1&&b=x=y&c&=d&";
  std::string all;
  query_pair pair;
  while (take_query_pair(query, pair)) all.append(pair.name).append(":").append(pair.value).append(" ");
  EXPECT_EQ(all, "a:1 b:x=y c: :d ");
}

}  // namespace
}  // namespace coracle::protocol::web::uri_test
