#include "tools/format/json_splitter.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools::json_splitter_test {
namespace {

// All values of a text that arrives in pieces of that many bytes.
std::vector<std::string> split(std::string_view text, std::size_t piece) {
  json_splitter splitter;
  std::vector<std::string> values;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    splitter.add(text.substr(at, piece));
    while (auto value = splitter.next()) values.emplace_back(*value);
  }
  while (auto value = splitter.rest()) values.emplace_back(*value);
  return values;
}

TEST(JsonSplitter, SplitsWhereverTheTextWasCut) {
  constexpr std::string_view text = R"( {"a": [1, {"b": "}\""}]}[2] "c d"{}
 12 )";
  const std::vector<std::string> values{R"({"a": [1, {"b": "}\""}]})", "[2]", R"("c d")", "{}", "12 "};
  for (std::size_t piece = 1; piece <= text.size(); ++piece) EXPECT_EQ(split(text, piece), values) << piece;
}

TEST(JsonSplitter, TakesSingleQuotesForQuotesToo) {
  constexpr std::string_view text = R"({'a': '}"'} {"b": "'"} 'c"'{})";
  const std::vector<std::string> values{R"({'a': '}"'})", R"({"b": "'"})", R"('c"')", "{}"};
  for (std::size_t piece = 1; piece <= text.size(); ++piece) EXPECT_EQ(split(text, piece), values) << piece;
}

TEST(JsonSplitter, GivesWhatWasCutShortAtTheEnd) {
  const std::vector<std::string> values{"{}", R"({"a": )"};
  for (const std::size_t piece : {1u, 3u, 100u}) EXPECT_EQ(split(R"({} {"a": )", piece), values) << piece;
  EXPECT_TRUE(split(" \n ", 1).empty());
}

// As a whole and in pieces of a read. If the cost of a value grew with the data after it, this would take
// longer than the test runner permits.
TEST(JsonSplitter, TakesAFileOfAnyLength) {
  constexpr std::size_t count = 1'000'000;
  std::string text;
  for (std::size_t n = 0; n < count; ++n) text += "{\"n\":" + std::to_string(n) + "}\n";
  for (const std::size_t piece : {std::size_t{4096}, text.size()}) {
    const std::vector<std::string> values = split(text, piece);
    ASSERT_EQ(values.size(), count);
    for (std::size_t n = 0; n < count; ++n) ASSERT_EQ(values[n], "{\"n\":" + std::to_string(n) + "}");
  }
}

}  // namespace
}  // namespace coracle::tools::json_splitter_test
