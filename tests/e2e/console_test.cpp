// The page of with_console(): who may use it, what its calls pass through, what it shows, its limits, and its
// end.
#include "support/echo_fixture.hpp"
#include "support/raw_http.hpp"

#include "coracle/base/usage_error.hpp"
#include "coracle/console/console.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/latch.hpp"
#include "coracle/security/auth_context.hpp"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace coracle::console_test {
namespace {

using namespace std::string_literals;
using namespace testing_support;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string json_type = "content-type: application/json\r\n";

// A page as a browser has it: its stream of events, and requests beside it.
class open_page {
 public:
  static task<std::unique_ptr<open_page>> open(std::string address) {
    net::stream s = co_await raw_http::connect(address);
    auto made = std::make_unique<open_page>(std::move(address), std::move(s));
    co_await raw_http::send(made->stream_, "POST /console/api/events HTTP/1.1\r\nhost: localhost\r\n" +
                                               json_type + "content-length: 2\r\n\r\n{}");
    const bool named = co_await raw_http::receive_until(made->stream_, made->events, "\n\n");
    EXPECT_TRUE(named) << made->events;
    constexpr std::string_view before = "\"page\":\"";
    const std::size_t at = made->events.find(before) + before.size();
    made->id_ = made->events.substr(at, made->events.find('"', at) - at);
    co_return made;
  }
  open_page(std::string address, net::stream s) : address_(std::move(address)), stream_(std::move(s)) {}

  // Performs an action; `members` follow the page's name in the body.
  task<raw_http::response> perform(std::string action, std::string members) {
    const std::string body = "{\"page\":\"" + id_ + "\"" + members + "}";
    std::string answer = co_await raw_http::exchange(
        address_, raw_http::request("POST /console/api/" + action, json_type, body));
    co_return raw_http::parse(answer);
  }
  task<> connect() {
    const std::string answer = co_await describe();
    EXPECT_THAT(answer, HasSubstr("\"name\":\"echo.Echo\""));
  }
  // Connects, and returns what the page gets to know.
  task<std::string> describe() {
    auto connected = co_await perform("connect", "");
    EXPECT_EQ(connected.status(), 200) << connected.body;
    co_return std::move(connected.body);
  }
  task<raw_http::response> start(std::string call, std::string method, std::string json) {
    return perform("start", ",\"server\":\"1\",\"call\":\"" + call + "\",\"method\":\"/echo.Echo/" + method +
                                "\",\"json\":\"" + json + "\"");
  }
  // Waits for an event that has this text.
  task<> wait_for(std::string text) {
    const bool there = co_await raw_http::receive_until(stream_, events, text);
    EXPECT_TRUE(there) << text << " is not in\n" << events;
  }
  task<> wait_for_end() { co_await raw_http::receive_until(stream_, events, {}); }

  std::string events;

 private:
  const std::string address_;
  net::stream stream_;
  std::string id_;
};

class console_page : public echo_fixture {
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
INSTANTIATE_TEST_SUITE_P(Everywhere, console_page, every_world_over_tcp, echo_fixture::case_name);

TEST_P(console_page, HasItsFilesBelowItsPath) {
  console_options options;
  options.path = "/tools/try";
  with_console(*server_, options);
  link();
  EXPECT_EQ(ask("GET /tools/try").status(), 308);
  EXPECT_EQ(ask("GET /tools/try").field("location"), "/tools/try/");
  const auto page = ask("GET /tools/try/");
  EXPECT_EQ(page.status(), 200);
  EXPECT_EQ(page.field("content-type"), "text/html; charset=utf-8");
  EXPECT_THAT(page.field("content-security-policy"), HasSubstr("frame-ancestors 'none'"));
  EXPECT_EQ(ask("GET /tools/try/main.js").field("content-type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(ask("GET /tools/try/no.js").status(), 404);
  EXPECT_EQ(ask("GET /tools/try/..%2fmain.js").status(), 404);
  EXPECT_EQ(ask("GET /console/").status(), 404);
}

TEST_P(console_page, OfAWrongPathIsAnError) {
  for (const char* path : {"", "console", "/console/", "/a//b"}) {
    console_options options;
    options.path = path;
    EXPECT_THROW(with_console(*server_, options), usage_error) << path;
  }
}

TEST_P(console_page, ListensOnThisMachineAloneUnlessItAuthorizes) {
  with_console(*server_);
  const status refused = server_->listen("0.0.0.0:0", insecure());
  EXPECT_EQ(refused.code(), status_code::failed_precondition);
  EXPECT_THAT(refused.message(), HasSubstr("console_options::authorize"));
  EXPECT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
}

TEST_P(console_page, AnswersNoProxyUnlessItAuthorizes) {
  with_console(*server_);
  link();
  for (const char* field : {"forwarded: for=192.0.2.1\r\n", "x-forwarded-for: 192.0.2.1\r\n"}) {
    const auto refused = ask("GET /console/", field);
    EXPECT_EQ(refused.status(), 403) << field;
    EXPECT_THAT(refused.body, HasSubstr("console_options::authorize"));
  }
  EXPECT_EQ(ask("GET /console/").status(), 200);
}

TEST_P(console_page, AsksAuthorizeForEveryRequest) {
  console_options options;
  options.authorize = [](const http_request& request) -> status {
    const auto who = request.header("authorization");
    if (!who) return status::unauthenticated("who are you?");
    return *who == "Basic eW91" ? status() : status::permission_denied("not you");
  };
  with_console(*server_, options);
  ASSERT_EQ(server_->listen("0.0.0.0:0", insecure()), status());
  address_ = "127.0.0.1:" + std::to_string(server_->port());
  for (const char* line : {"GET /console", "GET /console/", "GET /console/main.js", "POST /console/api/about",
                           "POST /console/api/events"}) {
    const bool posts = line[0] == 'P';
    const std::string type = posts ? json_type : ""s, body = posts ? "{}" : "";
    const auto unknown = ask(line, type, body);
    EXPECT_EQ(unknown.status(), 401) << line;
    EXPECT_THAT(unknown.field("www-authenticate"), HasSubstr("Basic"));
    EXPECT_THAT(unknown.body, HasSubstr("who are you?"));
    EXPECT_EQ(ask(line, type + "authorization: Basic x\r\n", body).status(), 403) << line;
  }
  EXPECT_EQ(ask("GET /console/", "authorization: Basic eW91\r\n").status(), 200);
}

TEST_P(console_page, TakesNoAddressAndNoKeys) {
  with_console(*server_);
  link();
  const auto connect = [](std::string address) -> task<> {
    const auto page = co_await open_page::open(address);
    // It calls its own server, whatever the settings say.
    const auto connected =
        co_await page->perform("connect", ",\"settings\":{\"address\":\"192.0.2.1:1\",\"security\":\"tls\"}");
    EXPECT_EQ(connected.status(), 200) << connected.body;
    const auto started = co_await page->start("a", "Say", "{}");
    EXPECT_EQ(started.status(), 200) << started.body;
    co_await page->wait_for("\"status\":\"OK\"");
  };
  run(connect(address_));
  EXPECT_EQ(ask("POST /console/api/add-certificate", json_type, "{}").status(), 404);
}

// Rejects calls without the metadata.
class key_guard final : public server_interceptor {
 public:
  task<status> intercept(server_context& context, next_handler next) override {
    if (!context.metadata().find("x-key")) co_return status::unauthenticated("x-key is missing");
    co_return co_await next();
  }
};

TEST_P(console_page, CallsThroughTheInterceptorsOfTheServer) {
  server_->add_interceptor(std::make_shared<key_guard>());
  with_console(*server_);
  link();
  const auto call_twice = [](std::string address) -> task<> {
    const auto page = co_await open_page::open(address);
    co_await page->connect();
    co_await page->start("without", "Say", "{}");
    co_await page->wait_for("\"status\":\"UNAUTHENTICATED\",\"message\":\"x-key is missing\"");
    const auto with_key = co_await page->perform(
        "start", R"(,"server":"1","call":"with","method":"/echo.Echo/Say","json":"{\"text\":\"hello\"}",)"
                 R"("metadata":[["X-Key","1"]])");
    EXPECT_EQ(with_key.status(), 200) << with_key.body;
    co_await page->wait_for("\"status\":\"OK\"");
    EXPECT_THAT(page->events, HasSubstr(R"("json":"{\"text\":\"hello\"}")"));
  };
  run(call_twice(address_));
}

// Gives back the name of the client.
class identity_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context& context, const echo::Text&) override {
    echo::Text text;
    text.set_text(context.auth() ? context.auth()->identities().front().value() : "nobody");
    co_return text;
  }
};

class calls_in_process : public echo_fixture {
 protected:
  service& served() noexcept override { return identities_; }
  std::string caller_of(const channel& c) { return run(say(echo_stub(c))); }

 private:
  static task<std::string> say(echo_stub stub) {
    const echo::Text request;
    const auto answer = co_await stub.Say(request);
    co_return answer ? answer->text() : std::string(answer.status().message());
  }
  identity_service identities_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, calls_in_process,
                         ::testing::Combine(all_kinds, ::testing::Values(link_kind::in_process)),
                         echo_fixture::case_name);

// What the page of with_console() makes its calls by.
TEST_P(calls_in_process, HaveTheIdentityThatTheConnectorWasGiven) {
  const auto known = std::make_shared<auth_context>();
  known->peer_verified(true).identities({peer_identity(peer_identity::kind::dns_name, "films.example")});
  EXPECT_EQ(caller_of(channel(rt(), server_->in_process(known))), "films.example");
  EXPECT_EQ(caller_of(*channel_), "nobody");
}

TEST_P(console_page, StreamsBothWays) {
  with_console(*server_);
  link();
  const auto chat = [](std::string address) -> task<> {
    const auto page = co_await open_page::open(address);
    co_await page->connect();
    co_await page->start("a", "Chat", "{}");
    co_await page->wait_for("\"kind\":\"message\"");
    const auto sent = co_await page->perform("send", R"(,"call":"a","json":"{\"count\":7}")");
    EXPECT_EQ(sent.status(), 200) << sent.body;
    co_await page->wait_for(R"({\"count\":7})");
    EXPECT_THAT(page->events, Not(HasSubstr("\"kind\":\"end\"")));
    co_await page->perform("send", R"(,"call":"a","last":true)");
    co_await page->wait_for("\"status\":\"OK\"");
    const auto late = co_await page->perform("send", R"(,"call":"a","json":"{}")");
    EXPECT_EQ(late.status(), 400);
    EXPECT_THAT(late.body, HasSubstr("the call has ended"));
  };
  run(chat(address_));
}

// Its handlers wait until they are stopped, and tell so.
class waiting_service final : public echo_service {
 public:
  reply<echo::Text> Misbehave(server_context&, const echo::Text&) override {
    try {
      co_await never_;
    } catch (const coro::cancelled&) {
      on_stop();
      throw;
    }
    co_return status::internal("it was not stopped");
  }
  std::function<void()> on_stop;

 private:
  event<> never_;
};

class waiting_page : public console_page {
 protected:
  service& served() noexcept override { return waiting_; }
  waiting_service waiting_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, waiting_page, every_world_over_tcp, echo_fixture::case_name);

TEST_P(waiting_page, CancelsItsCallsWhenItIsClosed) {
  with_console(*server_);
  link();
  const auto leave = [](std::string address, waiting_service& handlers) -> task<> {
    latch stopped(2);
    handlers.on_stop = [&] { stopped.count_down(); };
    {
      const auto page = co_await open_page::open(address);
      co_await page->connect();
      for (const char* call : {"a", "b"}) co_await page->start(call, "Misbehave", "{}");
      co_await page->perform("send", R"(,"call":"a","cancel":true)");
      co_await page->wait_for("\"status\":\"CANCELLED\"");
    }
    co_await stopped;
  };
  run(leave(address_, waiting_));
}

TEST_P(waiting_page, EndsWhenTheServerDrains) {
  with_console(*server_);
  link();
  const auto drain = [](std::string address, server& s, waiting_service& handlers) -> task<> {
    event<> stopped;
    handlers.on_stop = [&] { stopped.set(); };
    const auto page = co_await open_page::open(address);
    co_await page->connect();
    co_await page->start("a", "Misbehave", "{}");
    s.stop();
    co_await page->wait_for_end();
    co_await stopped;
  };
  run(drain(address_, *server_, waiting_));
}

TEST_P(console_page, HasALimitOfCallsThatRun) {
  with_console(*server_);
  link();
  const auto call_often = [](std::string address) -> task<> {
    const auto page = co_await open_page::open(address);
    co_await page->connect();
    for (int i = 0; i < 64; ++i) {
      const auto started = co_await page->start(std::to_string(i), "Misbehave", R"({\"text\":\"hang\"})");
      EXPECT_EQ(started.status(), 200) << started.body;
    }
    const auto refused = co_await page->start("more", "Say", "{}");
    EXPECT_EQ(refused.status(), 400);
    EXPECT_THAT(refused.body, HasSubstr("64 calls that run"));
    co_await page->perform("send", R"(,"call":"7","cancel":true)");
    co_await page->wait_for("\"status\":\"CANCELLED\"");
    const auto admitted = co_await page->start("more", "Say", "{}");
    EXPECT_EQ(admitted.status(), 200) << admitted.body;
  };
  run(call_often(address_));
}

TEST_P(console_page, IsOneOfALimitedNumber) {
  with_console(*server_);
  link();
  const auto open_many = [](std::string address) -> task<> {
    std::vector<std::unique_ptr<open_page>> pages;
    while (pages.size() < 32) pages.push_back(co_await open_page::open(address));
    const std::string refused =
        co_await raw_http::exchange(address, raw_http::request("POST /console/api/events", json_type, "{}"));
    EXPECT_EQ(raw_http::parse(refused).status(), 400) << refused;
    EXPECT_THAT(refused, HasSubstr("32 open pages"));
    pages.pop_back();
    for (bool admitted = false; !admitted;) {  // once the server knows that the page was closed
      net::stream s = co_await raw_http::connect(address);
      co_await raw_http::send(s, raw_http::request("POST /console/api/events", json_type, "{}"));
      std::string all;
      co_await raw_http::receive_until(s, all, "\r\n\r\n");
      admitted = all.starts_with("HTTP/1.1 200");
    }
  };
  run(open_many(address_));
}

TEST_P(console_page, KeepsAFewOfTheServersThatItConnectsTo) {
  with_console(*server_);
  link();
  const auto connect_often = [](std::string address) -> task<> {
    const auto page = co_await open_page::open(address);
    for (int i = 0; i < 5; ++i) co_await page->connect();
    const auto gone = co_await page->start("a", "Say", "{}");  // of the first one
    EXPECT_EQ(gone.status(), 400);
    EXPECT_THAT(gone.body, HasSubstr("connect again"));
  };
  run(connect_often(address_));
}

TEST_P(console_page, TakesRequestsUpToALimit) {
  with_console(*server_);
  link();
  constexpr std::size_t limit = std::size_t{16} << 20;
  EXPECT_EQ(ask("POST /console/api/about", json_type, std::string(limit, ' ')).status(), 200);
  EXPECT_EQ(ask("POST /console/api/about", json_type, std::string(limit + 1, ' ')).status(), 413);
}

// The simulation's clock makes long pauses short.
class simulated_page : public console_page {};
INSTANTIATE_TEST_SUITE_P(OverTcp, simulated_page,
                         ::testing::Combine(::testing::Values(world_kind::sim),
                                            ::testing::Values(link_kind::tcp)),
                         echo_fixture::case_name);

TEST_P(simulated_page, ShowsProxiesThatItIsAlive) {
  with_console(*server_);
  link();
  const auto stay = [](std::string address) -> task<> {
    const auto page = co_await open_page::open(address);
    const time_point begin = loop::current()->now();
    co_await page->wait_for("\n:\n\n");
    EXPECT_EQ(std::chrono::round<std::chrono::seconds>(loop::current()->now() - begin),
              std::chrono::seconds(15));
    co_await page->connect();
    co_await page->start("a", "Say", "{}");
    co_await page->wait_for("\"status\":\"OK\"");
  };
  run(stay(address_));
}

// The file of the echo service as a descriptor set, after a change.
std::string echo_set(const std::function<void(google::protobuf::FileDescriptorProto&)>& change) {
  google::protobuf::FileDescriptorSet set;
  google::protobuf::FileDescriptorProto& file = *set.add_file();
  echo::Text::descriptor()->file()->CopyTo(&file);
  change(file);
  return set.SerializeAsString();
}

TEST_P(console_page, ShowsTheCommentsOfADescriptorSet) {
  console_options options;
  options.descriptor_set = echo_set([](google::protobuf::FileDescriptorProto& file) {
    auto& where = *file.mutable_source_code_info()->add_location();
    for (const int step : {6, 0, 2, 0}) where.add_path(step);  // the first method of the first service
    for (const int n : {0, 0, 0}) where.add_span(n);
    where.set_leading_comments(" Comes back at once.\n");
  });
  with_console(*server_, options);
  link();
  const auto look = [](std::string address) -> task<> {
    const auto page = co_await open_page::open(address);
    const std::string answer = co_await page->describe();
    EXPECT_THAT(answer, HasSubstr("\"comment\":\"Comes back at once.\""));
    co_await page->start("a", "Say", "{}");
    co_await page->wait_for("\"status\":\"OK\"");
  };
  run(look(address_));
}

TEST_P(console_page, RejectsWhatIsNoDescriptorSet) {
  console_options options;
  options.descriptor_set = "movie.protoset";  // its name, in place of its content
  EXPECT_THROW(with_console(*server_, options), usage_error);
}

TEST_P(console_page, ShowsSomeOfTheErrorsInDefinitions) {
  console_options options;
  options.descriptor_set = echo_set([](google::protobuf::FileDescriptorProto& file) {
    for (int i = 0; i < 1'000; ++i) {
      auto& field = *file.mutable_message_type(0)->add_field();
      field.set_name("field_" + std::to_string(i));
      field.set_number(100 + i);
      field.set_label(google::protobuf::FieldDescriptorProto::LABEL_OPTIONAL);
      field.set_type_name(".echo.Missing" + std::to_string(i));
    }
  });
  with_console(*server_, options);
  link();
  const auto look = [](std::string address) -> task<> {
    const auto page = co_await open_page::open(address);
    const std::string answer = co_await page->describe();
    const std::size_t errors = answer.find("\"errors\":");
    EXPECT_THAT(answer.substr(errors), HasSubstr("Missing0"));
    EXPECT_GT(answer.size() - errors, 4'096u);
    EXPECT_LT(answer.size() - errors, 4'096u + 256u) << "the limit, and one line";
  };
  run(look(address_));
}

// Counts its replies, of 50 MB together.
class counting_service final : public echo_service {
 public:
  replies<echo::Text> Repeat(server_context&, const echo::Text&) override {
    echo::Text reply;
    reply.set_text(std::string(50'000, 'x'));
    for (; made < 1'000; ++made) {
      if (made == 20) page_is_full.set();  // 1 MiB
      co_yield reply;
    }
    co_return status();
  }
  event<> page_is_full;
  int made = 0;
};

class slow_page : public console_page {
 protected:
  service& served() noexcept override { return counting_; }
  counting_service counting_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, slow_page, every_world_over_tcp, echo_fixture::case_name);

TEST_P(slow_page, SlowsDownTheServerThatItCalls) {
  with_console(*server_);
  link();
  const auto read_late = [](std::string address, counting_service& handlers) -> task<> {
    const auto page = co_await open_page::open(address);
    co_await page->connect();
    co_await page->start("a", "Repeat", "{}");
    co_await handlers.page_is_full;
    // Without the limit, the handler would end while the server answers so many other requests.
    for (int i = 0; i < 300 && handlers.made < 1'000; ++i) {
      const auto unknown = co_await page->perform("nothing", "");
      EXPECT_EQ(unknown.status(), 404);
    }
    EXPECT_LT(handlers.made, 1'000) << "the buffers on the way, and no more";
    co_await page->wait_for("\"status\":\"OK\"");
    EXPECT_EQ(handlers.made, 1'000);
  };
  run(read_late(address_, counting_));
}

}  // namespace
}  // namespace coracle::console_test
