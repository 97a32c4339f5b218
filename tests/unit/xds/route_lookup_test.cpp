// Which virtual host, route and cluster a call gets (gRFC A28).
#include "xds/routing/route_lookup.hpp"

#include <gtest/gtest.h>

#include <map>

namespace coracle::xds::route_lookup_test {
namespace {

using kind = text_matcher::kind;

using header_map = std::map<std::string, std::string, std::less<>>;

class headers_of_call : public header_source {
 public:
  explicit headers_of_call(header_map all) : all_(std::move(all)) {}
  [[nodiscard]] std::optional<std::string> joined(std::string_view name) const override {
    const auto found = all_.find(name);
    return found == all_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  header_map all_;
};

headers_of_call metadata(header_map all) { return headers_of_call(std::move(all)); }

constexpr auto zero = [](std::uint64_t) -> std::uint64_t { return 0; };

virtual_host host(std::string name, std::vector<domain_pattern> domains) {
  return {std::move(name), std::move(domains), {}};
}

std::string chosen_host(const route_configuration& c, std::string_view authority) {
  const virtual_host* found = find_virtual_host(c, authority);
  return found ? found->name : "none";
}

TEST(XdsRouteLookup, PrefersExactThenTheLongestSuffixThenTheLongestPrefix) {
  using domain = domain_pattern::kind;
  const route_configuration c{
      "r",
      {host("any", {{domain::any, ""}}), host("short prefix", {{domain::prefix, "api."}}),
       host("long prefix", {{domain::prefix, "api.ex"}}), host("suffix", {{domain::suffix, ".org"}}),
       host("long suffix", {{domain::suffix, ".a.org"}}), host("exact", {{domain::exact, "api.a.org"}})}};
  EXPECT_EQ(chosen_host(c, "API.a.org"), "exact");
  EXPECT_EQ(chosen_host(c, "api.b.a.org"), "long suffix");
  EXPECT_EQ(chosen_host(c, "api.example.org"), "suffix");
  EXPECT_EQ(chosen_host(c, "api.example.com"), "long prefix");
  EXPECT_EQ(chosen_host(c, "api.com"), "short prefix");
  EXPECT_EQ(chosen_host(c, "other"), "any");
  EXPECT_EQ(chosen_host({"r", {host("exact", {{domain::exact, "a"}})}}, "b"), "none");
}

route to_cluster(const std::string& cluster, route_match match) {
  route r;
  r.name = cluster;
  r.match = std::move(match);
  return r;
}

std::string chosen_route(const std::vector<route>& routes, std::string_view path,
                         const headers_of_call& headers = metadata({}), const random_below& random = zero) {
  const virtual_host h{"h", {}, routes};
  const route* found = find_route(h, {path, headers}, random);
  return found ? found->name : "none";
}

route_match path_match(kind how, std::string text, bool ignore_case = false) {
  return {
      {how, ignore_case, std::move(text), how == kind::expression ? regex::compile("/a|/b.") : std::nullopt},
      {},
      {}};
}

TEST(XdsRouteLookup, TakesTheFirstRouteWhosePathFits) {
  const std::vector<route> routes = {to_cluster("path", path_match(kind::exact, "/s/m")),
                                     to_cluster("prefix", path_match(kind::prefix, "/s/")),
                                     to_cluster("any case", path_match(kind::prefix, "/t/", true)),
                                     to_cluster("regex", path_match(kind::expression, ""))};
  EXPECT_EQ(chosen_route(routes, "/s/m"), "path");
  EXPECT_EQ(chosen_route(routes, "/s/M"), "prefix");
  EXPECT_EQ(chosen_route(routes, "/S/m"), "none");
  EXPECT_EQ(chosen_route(routes, "/T/m"), "any case");
  EXPECT_EQ(chosen_route(routes, "/a"), "regex");
  EXPECT_EQ(chosen_route(routes, "/bc"), "regex");
  EXPECT_EQ(chosen_route(routes, "/ac"), "none");  // all of the path must match
  EXPECT_EQ(chosen_route(routes, "x/a"), "none");
}

bool fits(const header_matcher& m, const headers_of_call& headers) { return m.matches(headers); }

header_matcher text_of(kind how, std::string text, bool invert = false, std::string name = "h") {
  return {std::move(name), text_matcher{how, false, std::move(text), {}}, invert};
}

TEST(XdsHeaderMatcher, ComparesTheJoinedValues) {
  const headers_of_call headers = metadata({{"h", "ab,cd"}});
  EXPECT_TRUE(fits(text_of(kind::exact, "ab,cd"), headers));
  EXPECT_FALSE(fits(text_of(kind::exact, "ab"), headers));
  EXPECT_TRUE(fits(text_of(kind::prefix, "ab"), headers));
  EXPECT_FALSE(fits(text_of(kind::prefix, "b"), headers));
  EXPECT_TRUE(fits(text_of(kind::suffix, "cd"), headers));
  EXPECT_FALSE(fits(text_of(kind::suffix, "c"), headers));
  EXPECT_TRUE(fits(text_of(kind::contains, "b,c"), headers));
  EXPECT_FALSE(fits(text_of(kind::contains, "x"), headers));
  EXPECT_FALSE(fits(text_of(kind::exact, "ab,cd", true), headers));
  EXPECT_TRUE(fits(text_of(kind::exact, "x", true), headers));
  EXPECT_TRUE(fits({"h", text_matcher{kind::exact, true, "ab,cd", {}}, false}, metadata({{"h", "AB,CD"}})));
}

TEST(XdsHeaderMatcher, OfAHeaderThatIsAbsentFitsForItsAbsenceAlone) {
  const headers_of_call none = metadata({});
  EXPECT_FALSE(fits(text_of(kind::exact, ""), none));
  EXPECT_FALSE(fits(text_of(kind::exact, "x", true), none));
  EXPECT_FALSE(fits({"h", header_matcher::range{0, 9}, true}, none));
  EXPECT_FALSE(fits({"h", header_matcher::presence{true}, false}, none));
  EXPECT_TRUE(fits({"h", header_matcher::presence{true}, true}, none));
  EXPECT_TRUE(fits({"h", header_matcher::presence{false}, false}, none));
  EXPECT_TRUE(fits({"h", header_matcher::presence{true}, false}, metadata({{"h", ""}})));
}

TEST(XdsHeaderMatcher, HasARangeThatIsHalfOpen) {
  const header_matcher m{"h", header_matcher::range{-2, 5}, false};
  for (const auto& [value, expected] : std::map<std::string, bool>{{"-2", true},
                                                                   {"4", true},
                                                                   {"5", false},
                                                                   {"-3", false},
                                                                   {"4x", false},
                                                                   {"", false},
                                                                   {"99999999999999999999", false}})
    EXPECT_EQ(fits(m, metadata({{"h", value}})), expected) << value;
}

TEST(XdsHeaderMatcher, DoesNotSeeBinaryHeadersAndSeesOneContentType) {
  EXPECT_FALSE(fits({"h-bin", header_matcher::presence{true}, false}, metadata({{"h-bin", "v"}})));
  EXPECT_TRUE(fits(text_of(kind::exact, "application/grpc", false, "content-type"),
                   metadata({{"content-type", "application/grpc+json"}})));
}

TEST(XdsRouteLookup, RequiresAllHeadersAndTheFraction) {
  route_match m = path_match(kind::prefix, "");
  m.headers = {text_of(kind::exact, "1"), text_of(kind::exact, "2", false, "i")};
  m.millionths = 250'000;
  const std::vector<route> routes = {to_cluster("some", m), to_cluster("rest", path_match(kind::prefix, ""))};
  const headers_of_call both = metadata({{"h", "1"}, {"i", "2"}});
  std::uint64_t asked = 0;
  const auto draw = [&](std::uint64_t number) {
    return [&asked, number](std::uint64_t below) {
      asked = below;
      return number;
    };
  };
  EXPECT_EQ(chosen_route(routes, "/a/b", both, draw(249'999)), "some");
  EXPECT_EQ(asked, 1'000'000u);
  EXPECT_EQ(chosen_route(routes, "/a/b", both, draw(250'000)), "rest");
  EXPECT_EQ(chosen_route(routes, "/a/b", metadata({{"h", "1"}}), draw(0)), "rest");
}

TEST(XdsRouteLookup, DrawsNothingForACompleteFraction) {
  route_match m = path_match(kind::prefix, "");
  m.millionths = 1'500'000;
  const auto never_asked = [](std::uint64_t) -> std::uint64_t {
    ADD_FAILURE();
    return 0;
  };
  EXPECT_EQ(chosen_route({to_cluster("all", m)}, "/a/b", metadata({}), never_asked), "all");
  m.millionths = 0;
  EXPECT_EQ(chosen_route({to_cluster("no call", m)}, "/a/b"), "none");
}

TEST(XdsRouteLookup, ChoosesClustersByWeight) {
  route_action a;
  a.clusters = {{"a", 1}, {"b", 4'000'000'000}, {"c", 2}};
  const auto chosen = [&](std::uint64_t number) {
    return choose_cluster(a,
                          [&](std::uint64_t below) {
                            EXPECT_EQ(below, 4'000'000'003u);
                            return number;
                          })
        .name;
  };
  EXPECT_EQ(chosen(0), "a");
  EXPECT_EQ(chosen(1), "b");
  EXPECT_EQ(chosen(4'000'000'000), "b");
  EXPECT_EQ(chosen(4'000'000'001), "c");
  EXPECT_EQ(chosen(4'000'000'002), "c");
}

}  // namespace
}  // namespace coracle::xds::route_lookup_test
