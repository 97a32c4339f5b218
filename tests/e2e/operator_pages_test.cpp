// The pages of with_pages(): who may use them, their files, what they show as JSON, what they change, and
// their limits.
#include "support/echo_fixture.hpp"
#include "support/raw_http.hpp"

#include "coracle/base/usage_error.hpp"
#include "coracle/telemetry/with_pages.hpp"

#include "coracle/base/result.hpp"
#include "coracle/coro/when_any.hpp"

#include <gmock/gmock.h>
#include <signal.h>

#include <string>
#include <string_view>
#include <utility>

namespace coracle::operator_pages_test {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string json_type = "content-type: application/json\r\n";
const std::string all_names[] = {"overview", "connections", "channels",     "calls",         "loops",
                                 "memory",   "limits",      "certificates", "configuration", "log_levels",
                                 "version",  "rpcz",        "xds"};

class operator_pages : public echo_fixture {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    server_.emplace(rt(), server_options());
    server_->add(served());
  }
  raw_http::response ask(const std::string& line, const std::string& fields = {},
                         const std::string& body = {}) {
    return raw_http::parse(run(raw_http::exchange(address_, raw_http::request(line, fields, body))));
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, operator_pages, every_world_over_tcp, echo_fixture::case_name);

TEST_P(operator_pages, HaveTheirFilesAndTheSharedOnesBelowTheirPath) {
  pages_options options;
  options.path = "/admin/pages";
  with_pages(*server_, options);
  link();
  EXPECT_EQ(ask("GET /admin/pages").status(), 308);
  EXPECT_EQ(ask("GET /admin/pages").field("location"), "/admin/pages/");
  const auto page = ask("GET /admin/pages/");
  EXPECT_EQ(page.status(), 200);
  EXPECT_EQ(page.field("content-type"), "text/html; charset=utf-8");
  EXPECT_THAT(page.field("content-security-policy"), HasSubstr("frame-ancestors 'none'"));
  EXPECT_EQ(ask("GET /admin/pages/views.js").field("content-type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(ask("GET /admin/pages/theme.css").field("content-type"), "text/css; charset=utf-8");
  EXPECT_EQ(ask("GET /admin/pages/no.js").status(), 404);
  EXPECT_EQ(ask("GET /pages/").status(), 404);
}

TEST_P(operator_pages, OfAWrongPathAreAnError) {
  for (const char* path : {"", "pages", "/pages/"}) {
    pages_options options;
    options.path = path;
    EXPECT_THROW(with_pages(*server_, options), usage_error) << path;
  }
}

TEST_P(operator_pages, ListenOnThisMachineAloneUnlessTheyAuthorize) {
  with_pages(*server_);
  const status refused = server_->listen("0.0.0.0:0", insecure());
  EXPECT_EQ(refused.code(), status_code::failed_precondition);
  EXPECT_THAT(refused.message(), HasSubstr("pages_options::authorize"));
}

TEST_P(operator_pages, AnswerNoProxyUnlessTheyAuthorize) {
  with_pages(*server_);
  link();
  for (const char* field : {"forwarded: for=192.0.2.1\r\n", "x-forwarded-for: 192.0.2.1\r\n"})
    for (const char* line : {"GET /pages/", "GET /pages/json/overview"}) {
      const auto refused = ask(line, field);
      EXPECT_EQ(refused.status(), 403) << line << field;
      EXPECT_THAT(refused.body, HasSubstr("pages_options::authorize"));
    }
}

TEST_P(operator_pages, AskAuthorizeForEveryRequest) {
  pages_options options;
  options.authorize = [](const http_request& request) {
    if (request.header("authorization") == "Bearer me") return status();
    return status::permission_denied("not you");
  };
  with_pages(*server_, options);
  link();
  for (const char* line : {"GET /pages", "GET /pages/", "GET /pages/main.js", "GET /pages/json/overview",
                           "GET /pages/pprof/profile", "POST /pages/actions/set_log_levels"}) {
    const auto refused = ask(line, json_type, "{}");
    EXPECT_EQ(refused.status(), 403) << line;
    EXPECT_THAT(refused.body, HasSubstr("not you")) << line;
  }
  EXPECT_EQ(ask("GET /pages/json/overview", "authorization: Bearer me\r\n").status(), 200);
}

TEST_P(operator_pages, AnswerNoOtherSite) {
  with_pages(*server_);
  link();
  const std::string levels = R"({"levels":"error"})";
  const auto before = rt().log().min_levels();
  EXPECT_EQ(ask("POST /pages/actions/set_log_levels", json_type + "origin: https://evil.example\r\n", levels)
                .status(),
            403);
  EXPECT_EQ(ask("POST /pages/actions/set_log_levels", "content-type: text/plain\r\n", levels).status(), 415);
  EXPECT_EQ(rt().log().min_levels(), before);
  // A name that another site has made point to this machine (DNS rebinding).
  const auto rebound = raw_http::parse(run(raw_http::exchange(
      address_, "GET /pages/json/overview HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n")));
  EXPECT_EQ(rebound.status() / 100, 4) << rebound.head;
}

TEST_P(operator_pages, ChangeNothingByGet) {
  with_pages(*server_);
  link();
  const auto refused = ask("GET /pages/actions/set_log_levels");
  EXPECT_EQ(refused.status(), 405);
  EXPECT_EQ(refused.field("allow"), "POST");
}

TEST_P(operator_pages, SetLogLevels) {
  with_pages(*server_);
  link();
  const auto before = rt().log().min_levels();
  EXPECT_EQ(ask("POST /pages/actions/set_log_levels", json_type, R"({"levels":"tls=error"})").status(), 200);
  EXPECT_EQ(rt().log().min_level(log_room::tls), log_level::error);
  EXPECT_THAT(ask("GET /pages/json/log_levels").body, HasSubstr(R"({"room":"tls","level":"error"})"));
  EXPECT_TRUE(rt().log().set_min_levels(before).ok());
  for (const char* wrong : {"", "[]", "{}", R"({"levels":7})", R"({"levels":"tls=loud"})"})
    EXPECT_EQ(ask("POST /pages/actions/set_log_levels", json_type, wrong).status(), 400) << wrong;
  EXPECT_EQ(ask("POST /pages/actions/reboot", json_type, "{}").status(), 404);
  EXPECT_EQ(ask("POST /pages/actions/set_log_levels", json_type, std::string(5000, ' ')).status(), 413);
  EXPECT_EQ(rt().log().min_levels(), before);
}

TEST_P(operator_pages, CancelACallIfTheProgramPermitsIt) {
  for (const bool permitted : {false, true}) {
    server_.emplace(rt(), server_options());
    server_->add(served());
    pages_options options;
    options.cancel_calls = permitted;
    with_pages(*server_, options);
    link();
    auto call = echo_stub(*channel_).Chat();
    echo::Text text;
    text.set_text("hello");
    EXPECT_TRUE(sync_wait(call.write(text)).ok());
    EXPECT_TRUE(sync_wait(call.read(text)).ok());
    const std::string calls = ask("GET /pages/json/calls").body;
    const auto member = [&](const std::string& name) {
      return std::to_string(std::stoul(calls.substr(calls.find("\"" + name + "\":") + name.size() + 3)));
    };
    const std::string body = "{\"loop\":" + member("loop") + ",\"id\":" + member("id") + "}";
    const auto done = ask("POST /pages/actions/cancel_call", json_type, body);
    EXPECT_EQ(done.status(), permitted ? 200 : 400) << done.body;
    EXPECT_EQ(ask("GET /pages/actions/cancel_call").status(), 405);
    if (permitted) {
      EXPECT_EQ(sync_wait(call.finish()).code(), status_code::cancelled);
      EXPECT_EQ(ask("POST /pages/actions/cancel_call", json_type, body).status(), 400) << "it has ended";
    } else {
      EXPECT_THAT(done.body, HasSubstr("cancel_calls"));
    }
    for (const char* wrong :
         {R"({})", R"({"loop":99,"id":1})", R"({"loop":"0","id":1})", R"({"loop":-1,"id":1})"})
      EXPECT_EQ(ask("POST /pages/actions/cancel_call", json_type, wrong).status(), 400) << wrong;
  }
}

TEST_P(operator_pages, AreJsonByName) {
  with_pages(*server_);
  link();
  for (const std::string& name : all_names) {
    const auto page = ask("GET /pages/json/" + name);
    EXPECT_EQ(page.status(), 200) << name << page.body;
    EXPECT_EQ(page.field("content-type"), "application/json") << name;
    EXPECT_THAT(page.body, ::testing::StartsWith("{")) << name;
  }
  EXPECT_EQ(ask("GET /pages/json/nothing").status(), 404);
}

TEST_P(operator_pages, HaveTheCallTimelinesOfAMethod) {
  with_pages(*server_);
  link();
  echo::Text text;
  text.set_text("status");
  EXPECT_FALSE(sync_wait(echo_stub(*channel_).Misbehave(text)).ok());
  text.set_text("hello");
  EXPECT_TRUE(sync_wait(echo_stub(*channel_).Say(text)).ok());
  const auto all = ask("GET /pages/json/rpcz");
  EXPECT_EQ(all.status(), 200);
  EXPECT_THAT(all.body, HasSubstr(R"({"method":"echo.Echo/Say","side":"server","call_count":1,"ended":1,)"));
  const auto one = ask("GET /pages/json/rpcz?method=echo.Echo%2FMisbehave");
  EXPECT_THAT(one.body,
              HasSubstr(R"("method":"echo.Echo/Misbehave","side":"server","call_count":1,"ended":1,)"
                        R"("failed":1,)"));
  EXPECT_THAT(one.body, HasSubstr(R"("lists":["slowest","failed","latest"])"));
  EXPECT_THAT(one.body, HasSubstr(R"("event":"ended","status":)"));
  EXPECT_THAT(one.body, Not(HasSubstr("echo.Echo/Say")));
  EXPECT_THAT(ask("GET /pages/json/rpcz?method=%3Cscript%3E").body, HasSubstr(R"("methods":[])"));
}

TEST_P(operator_pages, CountCallsByMethodAndOutcome) {
  with_pages(*server_);
  link();
  echo::Text text;
  text.set_text("hello");
  EXPECT_TRUE(sync_wait(echo_stub(*channel_).Say(text)).ok());
  text.set_text("status");
  EXPECT_FALSE(sync_wait(echo_stub(*channel_).Misbehave(text)).ok());
  const std::string overview = ask("GET /pages/json/overview").body;
  EXPECT_THAT(overview,
              HasSubstr(R"({"method":"echo.Echo/Say","in_progress":0,"started":1,"ended":1,"failed":0,)"));
  EXPECT_THAT(
      overview,
      HasSubstr(R"({"method":"echo.Echo/Misbehave","in_progress":0,"started":1,"ended":1,"failed":1,)"));
}

constexpr std::string_view gzip_magic = "\x1f\x8b";

TEST_P(operator_pages, HaveACpuProfileOfTheProcess) {
  with_pages(*server_);
  link();
  const auto profile = ask("GET /pages/pprof/profile?seconds=1");
  EXPECT_EQ(profile.status(), 200) << profile.body;
  EXPECT_EQ(profile.field("content-type"), "application/octet-stream");
  EXPECT_EQ(profile.field("content-disposition"), "attachment; filename=\"cpu.pb.gz\"");
  EXPECT_THAT(profile.body, ::testing::StartsWith(gzip_magic));
}

TEST_P(operator_pages, RefuseProfilesOfAWrongTimeAndWrongNames) {
  with_pages(*server_);
  link();
  for (const char* seconds : {"0", "61", "-1", "1.5", "ten", "", "1s", "99999999999"}) {
    const auto refused = ask(std::string("GET /pages/pprof/profile?seconds=") + seconds);
    EXPECT_EQ(refused.status(), 400) << seconds;
    EXPECT_THAT(refused.body, HasSubstr("seconds must be a whole number from 1 to 60")) << seconds;
  }
  EXPECT_EQ(ask("GET /pages/pprof/goroutine").status(), 404);
}

TEST_P(operator_pages, SayHowToGetAHeapProfile) {
  with_pages(*server_);
  link();
  const auto refused = ask("GET /pages/pprof/heap");
  EXPECT_EQ(refused.status(), 501);
  EXPECT_THAT(refused.body, HasSubstr("MALLOC_CONF=prof:true"));
}

TEST_P(operator_pages, RefuseProfilesForThePagesOfOtherSites) {
  with_pages(*server_);
  link();
  EXPECT_EQ(ask("GET /pages/pprof/profile", "sec-fetch-site: cross-site\r\n").status(), 403);
}

TEST_P(operator_pages, LeaveAnotherProfilerAlone) {
  with_pages(*server_);
  link();
  struct sigaction theirs{};
  theirs.sa_handler = [](int) {};
  struct sigaction before{};
  ::sigaction(SIGPROF, &theirs, &before);
  const auto refused = ask("GET /pages/pprof/profile?seconds=1");
  ::sigaction(SIGPROF, &before, nullptr);
  EXPECT_EQ(refused.status(), 409);
  EXPECT_THAT(refused.body, HasSubstr("SIGPROF"));
}

const std::string long_profile = raw_http::request("GET /pages/pprof/profile?seconds=60");

task<std::string> response_from(net::stream& s) {
  std::string all;
  const bool ended = co_await raw_http::receive_until(s, all, {});
  EXPECT_TRUE(ended);
  co_return all;
}

// Of two profiles one is refused; the other one goes on, on the stream that is returned.
task<net::stream> begin_profile(std::string address) {
  net::stream one = co_await raw_http::connect(address);
  net::stream other = co_await raw_http::connect(address);
  co_await raw_http::send(one, long_profile);
  co_await raw_http::send(other, long_profile);
  auto first = when_any(response_from(one), response_from(other));
  auto refused = co_await first;
  const raw_http::response answer =
      raw_http::parse(refused.index() == 0 ? refused.get<0>() : refused.get<1>());
  EXPECT_EQ(answer.status(), 409) << answer.head;
  EXPECT_THAT(answer.body, HasSubstr("there is one at a time"));
  co_return refused.index() == 0 ? std::move(other) : std::move(one);
}

TEST_P(operator_pages, HaveOneProfileAtATimeWhichEndsWhenItsClientDisconnects) {
  with_pages(*server_);
  link();
  const auto begin_and_disconnect = [](std::string address) -> task<> {
    net::stream running = co_await begin_profile(std::move(address));
  };
  run(begin_and_disconnect(address_));
  int code = 409;  // until the server has noticed
  while (code == 409) code = ask("GET /pages/pprof/profile?seconds=1").status();
  EXPECT_EQ(code, 200);
}

TEST_P(operator_pages, SendTheProfileThatTheyHaveWhenTheServerDrains) {
  with_pages(*server_);
  link();
  const auto drain_meanwhile = [](std::string address, server& s) -> task<std::string> {
    net::stream running = co_await begin_profile(std::move(address));
    s.stop();
    std::string all = co_await response_from(running);
    co_return all;
  };
  const auto profile = raw_http::parse(run(drain_meanwhile(address_, *server_)));
  EXPECT_EQ(profile.status(), 200) << profile.head;
  EXPECT_THAT(profile.body, ::testing::StartsWith(gzip_magic));
}

}  // namespace
}  // namespace coracle::operator_pages_test
