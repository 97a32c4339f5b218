// The effects of channel_options on calls and connections, and the pool that uses them.
#include "support/certificates.hpp"
#include "support/server_fleet.hpp"

#include "coracle/client/channel_pool.hpp"

#include <filesystem>

namespace coracle::testing_support::channel_options_test {
namespace {

using namespace std::chrono_literals;

// Returns the parameters of its call: metadata "x-...", the deadline, the user-agent.
class mirror_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    echo::Text reply = request;
    for (const auto field : context.metadata()) {
      if (field.name.starts_with("x-") || field.name == "user-agent")
        reply.mutable_text()->append(field.name).append("=").append(field.value).append(";");
    }
    if (context.deadline() != never)
      reply.set_count(static_cast<int>((context.deadline() - coro::this_executor().now()) / 1s));
    co_return reply;
  }
};

class channel_option : public ::testing::Test {
 protected:
  channel_option() {
    server_.add(service_);
    EXPECT_EQ(server_.listen("127.0.0.1:50051", insecure()), status());
  }
  result<echo::Text> call(const channel_options& o, const call_options& mine = {},
                          const std::string& text_sent = {}) {
    channel c(rt_, "127.0.0.1:50051", insecure(), o);
    struct program {
      static task<result<echo::Text>> ask(channel& to, call_options options, std::string text) {
        echo::Text request;
        request.set_text(text);
        co_return co_await echo_stub(to).Say(request, options);
      }
    };
    return sync_wait(rt_, rt_.at(0), program::ask(c, mine, text_sent));
  }
  sim::world world_{1};
  runtime& rt_ = world_.host("host");
  mirror_service service_;
  server server_{rt_};
};

TEST_F(channel_option, ATimeoutHoldsForCallsThatSayNone) {
  channel_options o;
  o.calls = within(10s);
  EXPECT_EQ(call(o)->count(), 9);
  EXPECT_EQ(call(o, within(20s))->count(), 19);
  EXPECT_EQ(call(o, within(0s)).status().code(), status_code::deadline_exceeded);
  channel_options options;
  options.calls = within(0s);
  EXPECT_EQ(call(options).status().code(), status_code::deadline_exceeded);
  EXPECT_EQ(call({})->count(), 0);
}

TEST_F(channel_option, MetadataIsMergedByKeyAndTheCallsOwnWins) {
  channel_options o;
  o.calls.add_metadata("x-a", "1");
  o.calls.add_metadata("x-a", "2");
  o.calls.add_metadata("x-b", "3");
  EXPECT_NE(call(o)->text().find("x-a=1;x-a=2;x-b=3;"), std::string::npos) << call(o)->text();
  const std::string merged = call(o, call_options().add_metadata("x-a", "9"))->text();
  EXPECT_NE(merged.find("x-a=9;x-b=3;"), std::string::npos) << merged;
  EXPECT_EQ(merged.find("x-a=1"), std::string::npos) << merged;
  channel_options options;
  options.calls.add_metadata("X", "");
  EXPECT_EQ(call(options).status().code(), status_code::internal);
}

TEST_F(channel_option, LimitsOfMessagesHoldForCallsThatSayNone) {
  channel_options o;
  o.calls.max_receive_bytes = 100;
  const std::string large(200, 'x');
  EXPECT_EQ(call(o, {}, large).status().code(), status_code::resource_exhausted);
  call_options limited;
  limited.max_receive_bytes = 1000;
  EXPECT_EQ(call(o, limited, large).status(), status());
  channel_options sending;
  sending.calls.max_send_bytes = 100;
  EXPECT_EQ(call(sending, {}, large).status().code(), status_code::resource_exhausted);
}

TEST_F(channel_option, TheUserAgentStandsBeforeTheLibrarysOwn) {
  channel_options options;
  options.user_agent = "movies/1.2";
  const std::string text = call(options)->text();
  EXPECT_NE(text.find("user-agent=movies/1.2 grpc-c++20-coracle/"), std::string::npos) << text;
}

// --- the pool

// HPACK would carry these texts, and HTTP/1.1 would take what follows the line end for another field.
TEST_F(channel_option, TextsThatHttpForbidsEndTheCallBeforeItIsSent) {
  using ::testing::HasSubstr;
  channel_options over_http1;
  over_http1.protocol = call_protocol::connect;
  over_http1.http_version = http_version::http1;
  channel_options with_retries;
  with_retries.service_config = *service_config::parse(
      R"({"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":3,"initialBackoff":"1s","maxBackoff":"1s",
          "backoffMultiplier":1,"retryableStatusCodes":["INTERNAL"]}}]})");
  struct program {
    static task<status> ask(const channel& to, const char* path, call_options o) {
      const bytes_message request;
      co_return (co_await generic_stub(to).unary(path, request, o)).status();
    }
    static task<status> chat(const channel& to, const char* path) {
      auto call = generic_stub(to).bidi(path);
      co_return co_await call.finish();
    }
  };
  for (const channel_options& o : {channel_options(), over_http1, with_retries}) {
    channel c(rt_, "127.0.0.1:50051", insecure(), o);
    const auto ask = [&](const char* path, const call_options& mine = {}) {
      return sync_wait(rt_, rt_.at(0), program::ask(c, path, mine));
    };
    EXPECT_EQ(ask("/echo.Echo/Say"), status());
    const time_point began = world_.now();
    for (const char* path :
         {"/echo.Echo/Say\r\nx-a: b", "/echo.Echo/Say x", "echo.Echo/Say", "", "/echo.Echo/S\xc3\xa4y"}) {
      for (const status& s : {ask(path), sync_wait(rt_, rt_.at(0), program::chat(c, path))}) {
        EXPECT_EQ(s.code(), status_code::internal) << path;
        EXPECT_THAT(std::string(s.message()),
                    HasSubstr("is not valid in HTTP: write \"/package.Service/Method\""));
      }
    }
    call_options mine;
    mine.authority = "host\r\nx-a: b";
    EXPECT_THAT(std::string(ask("/echo.Echo/Say", mine).message()),
                HasSubstr("the authority \"host??x-a: b\" is not valid"));
    mine.authority = "user@host";
    EXPECT_EQ(ask("/echo.Echo/Say", mine).code(), status_code::internal);
    mine = {};
    mine.content_subtype = "proto\r\nx-a: b";
    EXPECT_THAT(std::string(ask("/echo.Echo/Say", mine).message()), HasSubstr("content_subtype"));
    EXPECT_EQ(world_.now(), began);  // without a retry
    EXPECT_EQ(ask("/echo.Echo/Say"), status());  // on the same connection
  }
  channel_options o;
  o.user_agent = "agent\r\nx-a: b";
  EXPECT_THAT(std::string(call(o).status().message()), HasSubstr("channel_options::user_agent"));
  o = {};
  EXPECT_EQ(channel(rt_, "127.0.0.1:50051", insecure(), o).invalid_reason(), status());
  o.authority = "host\r\nx-a: b";
  const status why = channel(rt_, "127.0.0.1:50051", insecure(), o).invalid_reason();
  EXPECT_THAT(std::string(why.message()), HasSubstr("channel_options::authority"));
  EXPECT_EQ(call(o).status(), why);
}

class a_channel_pool : public server_fleet {
 protected:
  void TearDown() override { servers_.clear(); }
};

TEST_F(a_channel_pool, GivesOneConnectionForAThousandRequests) {
  start("a");
  channel_pool pool(client_);
  for (int i = 0; i < 1000; ++i) {
    const channel c = pool.get(address("a"), insecure());
    ASSERT_EQ(call(c), "a");
  }
  EXPECT_EQ(service("a").peers.size(), 1u);
  EXPECT_EQ(pool.size(), 1u);
}

TEST_F(a_channel_pool, TellsTargetsAndOptionsApart) {
  channel_pool pool(client_);
  const auto first = pool.get("10.0.0.1:1", insecure());
  EXPECT_EQ(pool.get("10.0.0.1:1", insecure()), first);
  channel_options options;
  options.calls = call_options();
  EXPECT_EQ(pool.get("10.0.0.1:1", insecure(), options), first);
  EXPECT_NE(pool.get("10.0.0.2:1", insecure()), first);
  channel_options other;
  other.balance = balancing::round_robin();
  other.calls = within(1s);
  const auto second = pool.get("10.0.0.1:1", insecure(), other);
  EXPECT_NE(second, first);
  channel_options options_2;
  options_2.balance = balancing::round_robin();
  options_2.calls = within(1s);
  EXPECT_EQ(pool.get("10.0.0.1:1", insecure(), options_2), second);
  channel_options options_3 = channel_options(other);
  options_3.calls = within(2s);
  EXPECT_NE(pool.get("10.0.0.1:1", insecure(), options_3), second);
}

TEST_F(a_channel_pool, LetsGoOfAChannelThatNobodyHoldsOnceItHasRested) {
  start("a");
  channel_pool pool(client_);
  channel_options o;
  o.idle_timeout = 1min;
  ASSERT_EQ(call(pool.get(address("a"), insecure(), o)), "a");
  EXPECT_EQ(pool.size(), 1u);
  wait(30s);
  ASSERT_EQ(call(pool.get(address("a"), insecure(), o)), "a");
  EXPECT_EQ(service("a").peers.size(), 1u);
  wait(3min);
  EXPECT_EQ(pool.size(), 0u);
}

TEST_F(a_channel_pool, KeepsAChannelThatWasNotUsedYetForTheTimeOfARest) {
  channel_pool pool(client_);
  channel_options o;
  o.idle_timeout = 1min;
  const std::weak_ptr<call_channel> made = pool.get("10.0.0.1:1", insecure(), o).shared();
  EXPECT_EQ(pool.size(), 1u);
  wait(59s);
  EXPECT_EQ(pool.get("10.0.0.1:1", insecure(), o).shared(), made.lock());
  wait(59s);
  EXPECT_EQ(pool.size(), 1u);
  wait(1s);
  EXPECT_EQ(pool.size(), 0u);
  EXPECT_TRUE(made.expired());
}

TEST_F(a_channel_pool, TakesEqualOptionsOfTlsForTheSameCredentials) {
  channel_pool pool(client_);
  const auto first = pool.get("10.0.0.1:1", trusting("ca"));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(pool.get("10.0.0.1:1", trusting("ca")), first);
  EXPECT_EQ(pool.size(), 1u);
  EXPECT_NE(pool.get("10.0.0.1:1", trusting("other_ca")), first);
  tls::client_options credentials = trusting("ca");
  credentials.target_name = "a.example";
  EXPECT_NE(pool.get("10.0.0.1:1", credentials), first);
  EXPECT_NE(pool.get("10.0.0.1:1", insecure()), first);
  EXPECT_NE(pool.get("10.0.0.2:1", trusting("ca")), first);
}

TEST_F(a_channel_pool, TakesOptionsWithAPassphrasesCallbackForTheSameOnlyWhenTheyWereBuiltOnce) {
  channel_pool pool(client_);
  tls::key_pair pair = tls::key_pair::files(certificate("server.pem"), certificate("protected.key"));
  pair.passphrase([] { return std::string("sesame"); });
  tls::client_options asking = trusting("ca");
  asking.certificate = pair;
  const auto first = pool.get("10.0.0.1:1", asking);
  EXPECT_NE(pool.get("10.0.0.1:1", asking), first);
  const channel_credentials built = asking;
  const auto second = pool.get("10.0.0.1:1", built);
  EXPECT_EQ(pool.get("10.0.0.1:1", built), second);
}

TEST_F(a_channel_pool, TriesOptionsAgainThatCouldNotBeCarriedOut) {
  channel_pool pool(client_);
  const std::string path = certificate("comes_later.pem");
  tls::client_options credentials;
  credentials.cas.push_back(tls::pem_source::file(path));
  const auto without = pool.get("10.0.0.1:1", credentials);
  tls::client_options credentials_2;
  credentials_2.cas.push_back(tls::pem_source::file(path));
  EXPECT_EQ(pool.get("10.0.0.1:1", credentials_2), without);
  std::filesystem::copy_file(certificate("ca.pem"), path);
  tls::client_options credentials_3;
  credentials_3.cas.push_back(tls::pem_source::file(path));
  const auto with = pool.get("10.0.0.1:1", credentials_3);
  EXPECT_NE(with, without);
  tls::client_options credentials_4;
  credentials_4.cas.push_back(tls::pem_source::file(path));
  EXPECT_EQ(pool.get("10.0.0.1:1", credentials_4), with);
}

TEST_F(a_channel_pool, MayBeUsedByTheMakersOfResolvers) {
  channel_pool pool(client_);
  channel registry;
  channel_options o;
  o.add_resolver("own", [&](const client::target&) -> std::shared_ptr<client::resolver> {
    registry = pool.get("10.0.0.1:1", insecure());
    return std::make_shared<client::manual_resolver>(client::resolution());
  });
  const auto made = pool.get("own:servers", insecure(), o);
  EXPECT_EQ(pool.get("own:servers", insecure(), o), made);
  EXPECT_EQ(pool.get("10.0.0.1:1", insecure()), registry);
  EXPECT_EQ(pool.size(), 2u);
}

// --- keepalive

class keepalive_of_a_channel : public server_fleet {
 protected:
  void TearDown() override { servers_.clear(); }
  // Returns how long a call takes whose server falls silent one second after its start.
  duration time_to_notice(const channel_options& options) {
    start("a");
    channel c(client_, address("a"), insecure(), options);
    EXPECT_EQ(call(c), "a");
    struct program {
      static task<std::string> hang(channel& to, sim::world& w) {
        task<std::string> waiting = ask(to, {}, "hang");
        scope work;
        std::string end;
        work.spawn(keep(std::move(waiting), end));
        co_await sleep_for(1s);
        w.partition("client", "a");
        co_await work.join();
        co_return end;
      }
      static task<> keep(task<std::string> t, std::string& into) { into = co_await std::move(t); }
    };
    const time_point began = client_.now();
    EXPECT_EQ(run(program::hang(c, world_)), "UNAVAILABLE");
    return client_.now() - began;
  }
};

TEST_F(keepalive_of_a_channel, FindsASilentServer) {
  channel_options options;
  options.keepalive = {.time = 10s, .timeout = 5s};
  EXPECT_LT(time_to_notice(options), 30s);
}

TEST_F(keepalive_of_a_channel, SendsNoPingsMoreOftenThanEveryTenSeconds) {
  channel_options options;
  options.keepalive = {.time = 1s, .timeout = 5s};
  const duration took = time_to_notice(options);
  EXPECT_GE(took, 15s);
  EXPECT_LT(took, 30s);
}

}  // namespace
}  // namespace coracle::testing_support::channel_options_test
