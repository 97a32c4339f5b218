// The memory of requests: counted while their calls run, and not mistaken for a peer that does not read.
#include "support/borrowed.hpp"
#include "support/certificates.hpp"
#include "support/echo_fixture.hpp"
#include "support/raw_frames.hpp"

#include "coracle/net/stream.hpp"
#include "coracle/server/server_observer.hpp"

#include <coroutine>
#include <string>

namespace coracle::testing_support::congested_peer_test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr std::size_t megabyte = 1u << 20;

class counted_messages final : public server_observer {
 public:
  int received = 0;
  int ended = 0;
  void message_received(served_call&, message_size) noexcept override { ++received; }
  void call_ended(served_call&, const status&, time_point) noexcept override { ++ended; }
};

// Its handlers of Say wait until the test releases them, and ignore a stop.
class stubborn_service final : public echo_service {
 public:
  std::coroutine_handle<> waiting;
  bool done = false;
  reply<echo::Text> Say(server_context&, const echo::Text&) override {
    struct until_resumed {
      stubborn_service& of;
      explicit until_resumed(stubborn_service& s) noexcept : of(s) {}
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> h) const noexcept { of.waiting = h; }
      void await_resume() const noexcept {}
    };
    until_resumed released(*this);
    co_await released;
    done = true;
    co_return echo::Text();
  }
};

class held_requests : public echo_fixture {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
  }
  void serve(service& s, server_options options) {
    options.observer = borrowed(seen_);
    server_.emplace(rt(), options);
    server_->add(s);
    link();
  }
  // "hang" of Misbehave, with a megabyte in an unknown field.
  static echo::Text large(std::string content) {
    echo::Text t = text(std::move(content));
    t.GetReflection()->MutableUnknownFields(&t)->AddLengthDelimited(15, std::string(megabyte, 'x'));
    return t;
  }
  static task<> say(echo_stub s) {
    const echo::Text request = large("say");
    call_options options;
    options.compression = encoding::gzip;
    const auto reply = co_await s.Say(request, options);
    EXPECT_EQ(reply.status().code(), status_code::cancelled);
  }
  // Until its client has cancelled, and the server has noticed.
  static task<> abandon(held_requests& t) {
    const int ended = t.seen_.ended;
    scope work{co_await coro::this_environment()};
    work.spawn(say(t.stub()));
    while (!t.stubborn_.waiting) co_await sleep_for(1ms);  // until the handler has it
    work.request_stop();
    co_await work.join();
    while (t.seen_.ended == ended) co_await sleep_for(1ms);
  }
  // Until the server accepts new streams again, which it refuses for a moment: the memory of the previous
  // call is still counted.
  static task<status> say_at_once(held_requests& t, echo::Text request) {
    call_options options;
    options.compression = encoding::gzip;
    for (;;) {
      const auto reply = co_await t.stub().SayAtOnce(request, options);
      if (reply.status().code() != status_code::unavailable) co_return reply.status();
      co_await sleep_for(1ms);
    }
  }
  static task<> hang(echo_stub s, call_options options) {
    const echo::Text request = large("hang");
    const auto reply = co_await s.Misbehave(request, options);
    static_cast<void>(reply);
  }
  static task<> hold(held_requests& t, const compression& packed) {
    const int before = t.seen_.received;
    const int stopped = t.service_.stopped;
    scope work{co_await coro::this_environment()};
    call_options options;
    options.compression = packed;
    work.spawn(hang(t.stub(), options));
    while (t.seen_.received == before) co_await sleep_for(1ms);  // until the handler has it
    co_await sleep_for(1ms);  // the turn that brought it has ended
    EXPECT_GT(t.quota_.used_bytes(), megabyte);
    work.request_stop();
    co_await work.join();
    while (t.service_.stopped == stopped) co_await sleep_for(1ms);
    EXPECT_LT(t.quota_.used_bytes(), megabyte);
  }

  static task<> let_go(held_requests& t) {
    co_await abandon(t);
    EXPECT_GT(t.quota_.used_bytes(), megabyte);
    t.stubborn_.waiting.resume();
    EXPECT_TRUE(t.stubborn_.done);
    EXPECT_LT(t.quota_.used_bytes(), megabyte);
  }

  static task<> be_refused(held_requests& t) {
    co_await abandon(t);
    const status refused = co_await say_at_once(t, large("x"));
    EXPECT_EQ(refused.code(), status_code::resource_exhausted) << "more than a quarter of the quota is lost";
    const status served = co_await say_at_once(t, text("small"));
    EXPECT_EQ(served, status()) << "which holds nothing to speak of";
    t.stubborn_.waiting.resume();
  }

  static std::string call(int stream, std::size_t size) {
    const std::string body = text(std::string(size, 'x')).SerializeAsString();
    const std::string prefix =
        "\0\0\0"s + static_cast<char>(body.size() / 256) + static_cast<char>(body.size() % 256);
    return raw_frames::head("/echo.Echo/SayAtOnce", stream) +
           raw_frames::frame(raw_frames::data, raw_frames::end_stream, stream, prefix + body);
  }
  static task<> write(net::stream& to, const std::string& content) {
    EXPECT_TRUE((co_await to.write(as_bytes(content))).ok());
  }
  // What arrives before the acknowledgement of a PING: everything sent before it was processed by then.
  static task<> read_pong(net::stream& from) {
    std::string all;
    std::uint8_t bytes[4096];
    while (all.find("12345678") == std::string::npos) {
      const auto got = co_await from.read(bytes);
      if (!got || *got == 0) co_return;
      all.append(reinterpret_cast<const char*>(bytes), *got);
    }
  }
  static task<> pin(held_requests& t) {
    auto connected = co_await net::stream::connect(net::address::parse(t.address_).value());
    const std::string ping = raw_frames::frame(raw_frames::ping, 0, 0, "12345678");
    const std::string first = raw_frames::greeting("\0\4\0\0\0\0"s) + call(1, 2000) + ping;
    co_await write(*connected, first);
    co_await read_pong(*connected);
    EXPECT_EQ(t.seen_.received, 1);
    const std::string second = call(3, 10) + ping;
    co_await write(*connected, second);
    co_await read_pong(*connected);
    EXPECT_EQ(t.seen_.received, 1) << "it waits for its turn as it came";
    constexpr char window_update = 8;
    const std::string room = raw_frames::frame(window_update, 0, 1, "\0\0\x40\0"s);
    co_await write(*connected, room);
    while (t.seen_.received != 2) co_await sleep_for(1ms);
  }

  counted_messages seen_;
  stubborn_service stubborn_;
  memory_quota quota_{32 * megabyte};
};
INSTANTIATE_TEST_SUITE_P(Everywhere, held_requests, every_world_over_tcp, echo_fixture::case_name);

TEST_P(held_requests, CountForAsLongAsTheirCallsRun) {
  server_options options;
  options.memory = quota_;
  serve(service_, options);
  run(hold(*this, encoding::identity));
  run(hold(*this, encoding::gzip));
}

TEST_P(held_requests, CountForHandlersThatRunOnBehindTheirCalls) {
  server_options options;
  options.memory = quota_;
  serve(stubborn_, options);
  run(let_go(*this));
}

TEST_P(held_requests, OfHandlersThatRunOnKeepOthersFromBeingDecoded) {
  server_options options;
  options.memory = memory_quota(3 * megabyte);
  serve(stubborn_, options);
  run(be_refused(*this));
}

TEST_P(held_requests, AreNotDecodedWhileRepliesAreNotRead) {
  server_options options;
  options.limits = {.unread_bytes = 1000};
  serve(service_, options);
  run(pin(*this));
}

class held_by_tls : public every_backend {};
INSTANTIATE_TEST_SUITE_P(Over, held_by_tls, all_kinds, every_backend::case_name);

TEST_P(held_by_tls, AHandshakeThatDoesNotBeginCounts) {
  certificates::made();
  const memory_quota quota(32 * megabyte);
  server_options options;
  options.memory = quota;
  server s(rt(), options);
  ASSERT_EQ(s.listen("127.0.0.1:0", served_as("server")), status());
  struct program {
    static task<> connect(std::uint16_t port, const memory_quota& quota) {
      const auto at = net::address::parse("127.0.0.1:" + std::to_string(port)).value();
      auto first = co_await net::stream::connect(at);
      while (quota.used_bytes() == 0) co_await sleep_for(1ms);  // until it is accepted
      const std::size_t one = quota.used_bytes();
      EXPECT_GT(one, 48u << 10);
      auto second = co_await net::stream::connect(at);
      while (quota.used_bytes() == one) co_await sleep_for(1ms);
      EXPECT_EQ(quota.used_bytes(), 2 * one);
      first->close();
      while (quota.used_bytes() != one) co_await sleep_for(1ms);
    }
  };
  run(program::connect(s.port(), quota));
}

}  // namespace
}  // namespace coracle::testing_support::congested_peer_test
