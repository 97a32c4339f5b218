#include "protocol/cors.hpp"

#include "coracle/base/usage_error.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::protocol::cors_test {
namespace {

using verdict = cors_verdict;

cors_policy allowing(std::vector<std::string> origins) {
  cors_policy p;
  p.allowed_origins = std::move(origins);
  return p;
}

cors_policy allowing_any() {
  cors_policy p;
  p.any_origin = true;
  return p;
}

cors_request request_from(std::string_view origin, std::string_view method = "POST") {
  cors_request r;
  r.method = method;
  r.scheme = "https";
  r.authority = "api.example";
  r.origin = origin;
  return r;
}

cors_request preflight_from(std::string_view origin) {
  cors_request r = request_from(origin, "OPTIONS");
  r.request_method = "POST";
  return r;
}

TEST(Cors, LetsRequestsOfOtherProgramsPass) {
  for (const std::string_view method : {"GET", "POST", "OPTIONS", "DELETE"})
    EXPECT_EQ(cors({}).decide(request_from("", method)), cors_decision{}) << method;
}

TEST(Cors, LetsTheServersOwnPagesPass) {
  const cors c({});
  for (const std::string_view origin : {"https://api.example", "https://API.example:443"})
    EXPECT_EQ(c.decide(request_from(origin)), cors_decision{}) << origin;
  cors_request r = request_from("https://[::1]:8443");
  r.authority = "[0::1]:8443";
  EXPECT_EQ(c.decide(r), cors_decision{});
}

TEST(Cors, RefusesOtherOriginsWhateverTheMethodIs) {
  const cors c({});
  for (const std::string_view origin :
       {"https://evil.example", "http://api.example", "https://api.example:444", "https://api.example.evil",
        "https://sub.api.example", "null", "garbage", "https://api.example/",
        "https://api.example, https://evil"})
    for (const std::string_view method : {"GET", "HEAD", "POST", "OPTIONS", "PUT"})
      EXPECT_EQ(c.decide(request_from(origin, method)).verdict, verdict::refused) << origin << " " << method;
  EXPECT_EQ(c.decide(preflight_from("https://evil.example")).verdict, verdict::refused);
}

TEST(Cors, RefusesEveryOriginIfTheHostIsUnreadable) {
  cors_request r = request_from("https://api.example");
  for (const std::string_view authority : {"", "api.example:x", "u@api.example"}) {
    r.authority = authority;
    EXPECT_EQ(cors({}).decide(r).verdict, verdict::refused) << authority;
  }
}

TEST(Cors, ComparesHostsAloneIfTheSchemeIsUnknown) {
  const cors c({});
  cors_request r = request_from("https://api.example");
  r.scheme = "";
  EXPECT_EQ(c.decide(r).verdict, verdict::not_cross_origin);
  r.authority = "api.example:443";
  EXPECT_EQ(c.decide(r).verdict, verdict::not_cross_origin);
  r.authority = "api.example:80";
  EXPECT_EQ(c.decide(r).verdict, verdict::refused);
  r.origin = "http://api.example";
  EXPECT_EQ(c.decide(r).verdict, verdict::not_cross_origin);
  r.origin = "app://api.example:80";
  EXPECT_EQ(c.decide(r).verdict, verdict::refused);
}

TEST(Cors, AllowsTheListedOriginsAlone) {
  const cors c(allowing({"https://app.example", "http://localhost:3000"}));
  for (const std::string_view origin : {"https://app.example", "http://localhost:3000"})
    for (const std::string_view method : {"GET", "POST", "OPTIONS"})
      EXPECT_EQ(c.decide(request_from(origin, method)), (cors_decision{verdict::allowed, origin})) << origin;
  for (const std::string_view origin :
       {"http://app.example", "http://localhost:3001", "http://localhost", "null"})
    EXPECT_EQ(c.decide(request_from(origin)).verdict, verdict::refused) << origin;
}

TEST(Cors, AllowsEveryOriginByAnyOrigin) {
  const cors c(allowing_any());
  for (const std::string_view origin : {"https://evil.example", "null", "app://x"})
    EXPECT_EQ(c.decide(request_from(origin)), (cors_decision{verdict::allowed, "*"})) << origin;
  EXPECT_EQ(c.decide(request_from("garbage")).verdict, verdict::refused);
}

TEST(Cors, RefusesCrossSiteRequestsThatHaveNoOrigin) {
  cors_request r = request_from("", "GET");
  r.fetch_site = "cross-site";
  EXPECT_EQ(cors({}).decide(r).verdict, verdict::refused);
  EXPECT_EQ(cors(allowing({"https://app.example"})).decide(r).verdict, verdict::refused);
  EXPECT_EQ(cors(allowing_any()).decide(r).verdict, verdict::not_cross_origin);
  for (const std::string_view site : {"same-origin", "same-site", "none", ""}) {
    r.fetch_site = site;
    EXPECT_EQ(cors({}).decide(r).verdict, verdict::not_cross_origin) << site;
  }
}

TEST(Cors, DecidesByOriginWhereThereIsOne) {
  cors_request r = request_from("https://app.example");
  r.fetch_site = "cross-site";
  EXPECT_EQ(cors(allowing({"https://app.example"})).decide(r).verdict, verdict::allowed);
  r.fetch_site = "same-origin";
  EXPECT_EQ(cors({}).decide(r).verdict, verdict::refused);
}

TEST(Cors, TakesOnlyAnOptionsRequestThatAsksForAMethodForAPreflight) {
  const cors c(allowing({"https://app.example"}));
  EXPECT_EQ(c.decide(preflight_from("https://app.example")).verdict, verdict::preflight);
  cors_request r = preflight_from("https://app.example");
  r.method = "POST";
  EXPECT_EQ(c.decide(r).verdict, verdict::allowed);
  r = preflight_from("https://api.example");
  EXPECT_EQ(c.decide(r).verdict, verdict::not_cross_origin);
}

TEST(Cors, AddsWhatPagesMayReadToResponses) {
  cors_policy p = allowing({"https://app.example"});
  p.exposed_headers = {"ETag", "grpc-status"};
  const cors c(p);
  const std::vector<std::string_view> names{"x-custom",   "trailer-x", "content-type",
                                            "set-cookie", "etag",      "x-custom",
                                            ":status",    "bad name",  "access-control-max-age"};
  http::header_list fields;
  c.add_response_fields(c.decide(request_from("https://app.example")), names, fields);
  http::header_list expected;
  expected.add("vary", "Origin");
  expected.add("access-control-allow-origin", "https://app.example");
  expected.add(
      "access-control-expose-headers",
      "grpc-status, grpc-message, grpc-status-details-bin, grpc-retry-pushback-ms, retry-after, ETag, "
      "x-custom, trailer-x");
  EXPECT_EQ(fields, expected);
}

TEST(Cors, AddsCredentialsOnlyByThePolicy) {
  cors_policy p = allowing({"https://app.example"});
  for (const bool credentials : {false, true}) {
    p.credentials = credentials;
    const cors c(p);
    http::header_list response, preflight;
    c.add_response_fields(c.decide(request_from("https://app.example")), {}, response);
    const cors_request r = preflight_from("https://app.example");
    c.add_preflight_fields(c.decide(r), r, preflight);
    for (const http::header_list* fields : {&response, &preflight})
      EXPECT_EQ(fields->find("access-control-allow-credentials"),
                credentials ? std::optional<std::string_view>("true") : std::nullopt);
  }
}

TEST(Cors, AddsAtMostVaryToTheOtherResponses) {
  for (const std::string_view origin : {"", "https://api.example", "https://evil.example"}) {
    http::header_list none, vary, any;
    const cors closed({}), listing(allowing({"https://app.example"})), open(allowing_any());
    closed.add_response_fields(closed.decide(request_from(origin)), {}, none);
    EXPECT_TRUE(none.empty()) << origin;
    listing.add_response_fields(listing.decide(request_from(origin)), {}, vary);
    EXPECT_EQ(vary.size(), 1u) << origin;
    EXPECT_EQ(vary.find("vary"), "Origin") << origin;
    open.add_response_fields(open.decide(request_from(origin)), {}, any);
    EXPECT_EQ(any.find("vary"), std::nullopt) << origin;
  }
}

TEST(Cors, AnswersAPreflightWithWhatIsAllowed) {
  cors_policy p = allowing({"https://app.example"});
  p.allowed_headers = {"Authorization", "x-tenant"};
  p.max_age = std::chrono::minutes(10);
  const cors c(p);
  cors_request r = preflight_from("https://app.example");
  r.request_headers = "content-type,x-other";
  http::header_list fields;
  c.add_preflight_fields(c.decide(r), r, fields);
  EXPECT_EQ(fields.find("access-control-allow-origin"), "https://app.example");
  EXPECT_EQ(fields.find("access-control-allow-methods"), "GET, HEAD, POST, PUT, PATCH, DELETE");
  EXPECT_EQ(fields.find("access-control-max-age"), "600");
  EXPECT_EQ(fields.find("vary"), "Origin, Access-Control-Request-Method, Access-Control-Request-Headers");
  const std::string allowed = ", " + std::string(*fields.find("access-control-allow-headers")) + ",";
  for (const std::string_view name :
       {"content-type", "connect-protocol-version", "connect-timeout-ms", "grpc-timeout", "x-grpc-web",
        "x-user-agent", "Authorization", "x-tenant"})
    EXPECT_NE(allowed.find(", " + std::string(name) + ","), std::string::npos) << name;
  EXPECT_EQ(allowed.find("x-other"), std::string::npos);
}

TEST(Cors, AllowsTheRequestedHeadersByAnyHeader) {
  cors_policy p = allowing_any();
  p.any_header = true;
  const cors c(p);
  cors_request r = preflight_from("null");
  r.request_headers = "authorization, Content-Type,, x:y, x-other";
  http::header_list fields;
  c.add_preflight_fields(c.decide(r), r, fields);
  EXPECT_EQ(fields.find("access-control-allow-origin"), "*");
  const std::string_view allowed = *fields.find("access-control-allow-headers");
  EXPECT_TRUE(allowed.ends_with(", authorization, x-other")) << allowed;
}

TEST(Cors, PromisesNothingToARefusedPreflight) {
  const cors c(allowing({"https://app.example"}));
  const cors_request r = preflight_from("https://evil.example");
  http::header_list fields;
  c.add_preflight_fields(c.decide(r), r, fields);
  EXPECT_EQ(fields.size(), 1u);
  EXPECT_TRUE(fields.contains("vary"));
}

TEST(Cors, RefusesAPolicyThatIsUnsafeOrMalformed) {
  cors_policy p = allowing_any();
  p.credentials = true;
  EXPECT_THROW(cors{p}, usage_error);
  for (const std::string_view origin :
       {"*", "null", "app.example", "https://app.example/", "https://*.example:x", ""})
    EXPECT_THROW(cors{allowing({std::string(origin)})}, usage_error) << origin;
  p = {};
  p.max_age = std::chrono::seconds(-1);
  EXPECT_THROW(cors{p}, usage_error);
  for (const std::string_view name : {"", "*", "a b", "a,b"}) {
    p = {};
    p.allowed_headers = {std::string(name)};
    EXPECT_THROW(cors{p}, usage_error) << name;
    p = {};
    p.exposed_headers = {std::string(name)};
    EXPECT_THROW(cors{p}, usage_error) << name;
  }
}

}  // namespace
}  // namespace coracle::protocol::cors_test
