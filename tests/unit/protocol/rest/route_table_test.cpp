#include "protocol/rest/route_table.hpp"

#include <gtest/gtest.h>

#include <random>

namespace coracle::protocol::rest::route_table_test {
namespace {

struct route {
  const char* method;
  const char* path;
};

route_table table_of(std::initializer_list<route> routes) {
  route_table table;
  std::uint32_t i = 0;
  for (const route& r : routes) {
    const auto path = path_template::parse(r.path);
    EXPECT_TRUE(path.ok()) << path.status();
    const status added = table.add(r.method, *path, i, "service.Method" + std::to_string(i));
    EXPECT_TRUE(added.ok()) << added;
    ++i;
  }
  return table;
}

// "2 a,b" for the route 2 with two values; "404", "400", "405 GET, POST".
std::string found(const route_table& table, std::string_view method, std::string_view path) {
  const route_match m = table.find(method, path);
  switch (m.outcome) {
    case match_outcome::not_found: return "404";
    case match_outcome::malformed: return "400";
    case match_outcome::method_not_allowed: return "405 " + table.allow(m);
    case match_outcome::found: break;
  }
  std::string out = std::to_string(m.index);
  for (std::size_t i = 0; i < m.raw_values().size(); ++i)
    out.append(i == 0 ? " " : ",").append(m.raw_values()[i]);
  return out;
}

TEST(RouteTable, FindsTheRouteAndTheValuesOfItsVariables) {
  const route_table table = table_of({{"GET", "/v1/{name=shelves/*/books/*}"},
                                      {"GET", "/v1/{id}/pages/{page}"},
                                      {"GET", "/v1/files/{path=**}"},
                                      {"GET", "/v1/archive/{path=years/**}"},
                                      {"GET", "/"},
                                      {"GET", "/v1/plain"},
                                      {"GET", "/v1/copies/{path=**}:copy"},
                                      {"GET", "/v1/{a=x/*}/y/{b=z/*/w}"}});
  for (const auto& [path, expected] : {std::pair{"/v1/shelves/1/books/2", "0 shelves/1/books/2"},
                                       {"/v1/7/pages/8", "1 7,8"},
                                       {"/v1/files/a/b/c", "2 a/b/c"},
                                       {"/v1/files/a", "2 a"},
                                       {"/v1/files/", "2 "},
                                       {"/v1/files", "2 "},
                                       {"/v1/files/a//b/", "2 a//b/"},
                                       {"/v1/archive/years", "3 years"},
                                       {"/v1/archive/years/", "3 years/"},
                                       {"/v1/archive/years/1999/5", "3 years/1999/5"},
                                       {"/v1/archive/year", "404"},
                                       {"/", "4"},
                                       {"/v1/plain", "5"},
                                       {"/v1/plain/", "404"},
                                       {"/v1//pages/8", "404"},
                                       {"/v1/7/pages/", "404"},
                                       {"/v1/shelves/1/books", "404"},
                                       {"/V1/plain", "404"},
                                       {"/v1/pl%61in", "5"},
                                       {"/v1/copies/a/b:copy", "6 a/b"},
                                       {"/v1/copies:copy", "6 "},
                                       {"/v1/copies/a/b", "404"},
                                       {"/v1/x/1/y/z/2/w", "7 x/1,z/2/w"},
                                       {"//", "404"}}) {
    EXPECT_EQ(found(table, "GET", path), expected) << path;
  }
}

TEST(RouteTable, PrefersLiteralsFromTheLeft) {
  const route_table table = table_of({{"GET", "/a/{x}"},
                                      {"GET", "/a/b"},
                                      {"GET", "/a/{x=**}"},
                                      {"GET", "/{x}/b/c"},
                                      {"GET", "/a/{x}/c"},
                                      {"GET", "/a/b/{x}/d"},
                                      {"GET", "/{x=**}"}});
  for (const auto& [path, expected] : {std::pair{"/a/b", "1"},
                                       {"/a/c", "0 c"},
                                       {"/a/b/c", "4 b"},  // the first segment decides, not the last
                                       {"/z/b/c", "3 z"},
                                       {"/a/b/c/d", "5 c"},
                                       {"/a/b/c/e", "2 b/c/e"},  // back from the literals
                                       {"/a", "2 "},
                                       {"/q", "6 q"},
                                       {"/", "6 "}}) {
    EXPECT_EQ(found(table, "GET", path), expected) << path;
  }
}

TEST(RouteTable, TreatsAVerbAsMoreSpecificThanASegmentWithAColon) {
  const route_table table = table_of({{"POST", "/v1/{name}"},
                                      {"POST", "/v1/{name}:cancel"},
                                      {"GET", "/v1/{name}"},
                                      {"POST", "/v1/fixed:cancel"}});
  for (const auto& [method, path, expected] : {std::tuple{"POST", "/v1/x", "0 x"},
                                               {"POST", "/v1/x:cancel", "1 x"},
                                               {"POST", "/v1/x:y:cancel", "1 x:y"},
                                               {"POST", "/v1/x:other", "0 x:other"},
                                               {"POST", "/v1/x%3Acancel", "0 x%3Acancel"},
                                               {"POST", "/v1/x:can%63el", "1 x"},
                                               {"POST", "/v1/x:", "0 x:"},
                                               {"POST", "/v1/fixed:cancel", "3"},
                                               {"GET", "/v1/x:cancel", "2 x:cancel"},
                                               {"PUT", "/v1/x:cancel", "405 POST, GET"},
                                               {"POST", "/v1:cancel", "404"}}) {
    EXPECT_EQ(found(table, method, path), expected) << method << " " << path;
  }
}

TEST(RouteTable, KnowsWhichMethodsAPathAllows) {
  const route_table table =
      table_of({{"GET", "/a/{x}"}, {"POST", "/a/b"}, {"PATCH", "/{x=**}"}, {"GET", "/c"}});
  EXPECT_EQ(found(table, "GET", "/a/b"), "0 b") << "the more specific route has another method";
  EXPECT_EQ(found(table, "POST", "/a/b"), "1");
  EXPECT_EQ(found(table, "DELETE", "/a/b"), "405 GET, POST, PATCH");
  EXPECT_EQ(found(table, "GET", "/q"), "405 PATCH");
  EXPECT_EQ(found(table, "get", "/c"), "405 GET, PATCH") << "methods are case-sensitive";
  EXPECT_EQ(found(table_of({}), "GET", "/"), "404");
  EXPECT_TRUE(table_of({}).empty());
}

TEST(RouteTable, ServesAllOtherMethodsByTheRouteOfTheMethodStar) {
  const route_table table = table_of({{"*", "/a"}, {"GET", "/a"}});
  EXPECT_EQ(found(table, "GET", "/a"), "1");
  EXPECT_EQ(found(table, "PURGE", "/a"), "0");
}

TEST(RouteTable, RefusesTwoRoutesForTheSamePathsAndNamesBoth) {
  for (const auto& [first, second] : {std::pair{"/v1/{a}", "/v1/{b}"},
                                      {"/v1/{a}", "/v1/*"},
                                      {"/v1/x", "/v1/{a=x}"},
                                      {"/v1/{a=x/*}", "/v1/x/{b}"},
                                      {"/v1/{a=**}", "/v1/**"},
                                      {"/v1/a%20b", "/v1/a%20b"},
                                      {"/v1/caf%C3%A9", "/v1/caf\xc3\xa9"},
                                      {"/v1/{a}:v", "/v1/{b}:v"}}) {
    route_table table;
    ASSERT_TRUE(table.add("GET", *path_template::parse(first), 0, "s.First").ok());
    const status twin = table.add("GET", *path_template::parse(second), 1, "s.Second");
    EXPECT_EQ(twin.code(), status_code::already_exists) << first;
    EXPECT_NE(twin.message().find("GET " + std::string(first) + " of s.First"), std::string_view::npos)
        << twin;
    EXPECT_NE(twin.message().find("GET " + std::string(second) + " of s.Second"), std::string_view::npos)
        << twin;
    EXPECT_TRUE(table.add("POST", *path_template::parse(second), 1, "s.Second").ok());
  }
}

TEST(RouteTable, RefusesWhatIsNoHttpMethodAndTooMany) {
  route_table table;
  for (const std::string_view method : {"", "GE T", "GET\r", "G/T"})
    EXPECT_EQ(table.add(method, path_template(), 0, "s.M").code(), status_code::invalid_argument) << method;
  for (std::size_t i = 0; i < route_table::methods_max; ++i)
    EXPECT_TRUE(table.add("M" + std::to_string(i), path_template(), 0, "s.M").ok());
  EXPECT_EQ(table.add("GET", path_template(), 0, "s.M").code(), status_code::invalid_argument);
  EXPECT_EQ(found(table, "M63", "/"), "0");
  EXPECT_EQ(found(table, "X", "/").size(), 4 + 10 * 4 + 54 * 5 - 2) << "all of them are in the list";
}

TEST(RouteTable, FindsNothingInAMalformedPath) {
  const route_table table = table_of({{"GET", "/{x=**}"}});
  for (const std::string_view path : {"", "a", "*", "http://x/", "/%", "/%4", "/a%4", "/%zz/b", "/%%41"})
    EXPECT_EQ(found(table, "GET", path), "400") << path;
  for (const std::string_view path : {"/%00", "/\xff", "/%ff", "/..", "/%2e%2e/x"})
    EXPECT_EQ(found(table, "GET", path), "0 " + std::string(path.substr(1))) << path;
}

TEST(RouteTable, BoundsWhatAPathCosts) {
  // Each level has a literal and a `*`: of 2^20 ways through the path only those in the templates are tried.
  route_table table;
  std::string text;
  for (int i = 0; i < 20; ++i) {
    text += i % 2 ? "/a" : "/*";
    ASSERT_TRUE(table.add("GET", *path_template::parse(text + "/end"), 0, "s.M").ok());
    ASSERT_TRUE(table.add("GET", *path_template::parse("/a" + text + "/end"), 0, "s.M").ok());
  }
  std::string path;
  for (int i = 0; i < 100'000; ++i) path += "/a";
  EXPECT_EQ(found(table, "GET", path), "404");
}

// The rules once more, in the slowest way: the best of all templates that match.
class every_template {
 public:
  void add(std::string_view text) { templates_.push_back(*path_template::parse(text)); }
  [[nodiscard]] std::string find(std::string_view path) const {
    std::vector<std::string_view> segments;
    for (std::string_view left = path.substr(1);;) {
      segments.push_back(left.substr(0, left.find('/')));
      if (left.find('/') == std::string_view::npos) break;
      left.remove_prefix(left.find('/') + 1);
    }
    if (path == "/") segments.clear();
    std::string best = "404";
    std::string best_rank;
    for (std::size_t t = 0; t < templates_.size(); ++t) {
      const std::string rank = match(templates_[t], segments);
      if (!rank.empty() && (best_rank.empty() || rank < best_rank)) {
        best = std::to_string(t);
        best_rank = rank;
      }
    }
    return best;
  }

 private:
  // "llo." for two literals and a `*`; smaller is better. Empty if it does not match.
  static std::string match(const path_template& t, const std::vector<std::string_view>& segments) {
    std::string rank;
    for (std::size_t i = 0; i < t.segments().size(); ++i) {
      const auto& s = t.segments()[i];
      if (s.kind == path_template::segment_kind::rest) return rank + "r";
      if (i >= segments.size()) return {};
      if (s.kind == path_template::segment_kind::literal && segments[i] != s.literal) return {};
      if (segments[i].empty()) return {};
      rank += s.kind == path_template::segment_kind::literal ? 'l' : 'o';
    }
    return t.segments().size() == segments.size() ? rank + "." : std::string();
  }
  std::vector<path_template> templates_;
};

TEST(RouteTable, AgreesWithTryingAllTemplates) {
  std::mt19937 random(17);
  for (int round = 0; round < 300; ++round) {
    route_table table;
    every_template all;
    std::uint32_t count = 0;
    for (int i = 0; i < 30; ++i) {
      std::string text;
      const auto length = random() % 5;
      for (std::size_t s = 0; s < length; ++s)
        text += s + 1 == length && random() % 4 == 0 ? "/**"
                : random() % 3 == 0                  ? "/*"
                : random() % 2                       ? "/a"
                                                     : "/b";
      if (text.empty()) text = "/";
      if (table.add("GET", *path_template::parse(text), count, "s.M").ok()) {
        all.add(text);
        ++count;
      }
    }
    for (int i = 0; i < 60; ++i) {
      std::string path;
      for (auto s = random() % 6; s > 0; --s)
        path += random() % 9 == 0 ? "/" : random() % 5 == 0 ? "/c" : random() % 2 ? "/a" : "/b";
      if (path.empty()) path = "/";
      ASSERT_EQ(found(table, "GET", path), all.find(path)) << path;
    }
  }
}

TEST(PathVariable, IsDecodedWholeUnlessItMayContainSlashes) {
  for (const auto& [raw, one, several] : {std::tuple{"plain", "plain", "plain"},
                                          {"a%20b+c", "a b+c", "a b+c"},
                                          {"a%2Fb", "a/b", "a%2Fb"},
                                          {"a%2fb%2Fc/d", "a/b/c/d", "a%2fb%2Fc/d"},
                                          {"%25%2F%20", "%/ ", "%%2F "},
                                          {"%252F", "%2F", "%2F"},
                                          {"%C3%A9%2F", "\xc3\xa9/", "\xc3\xa9%2F"},
                                          {"%2E%2e", "..", ".."},
                                          {"", "", ""}}) {
    EXPECT_EQ(decode_variable(raw, false), one) << raw;
    EXPECT_EQ(decode_variable(raw, true), several) << raw;
  }
}

}  // namespace
}  // namespace coracle::protocol::rest::route_table_test
