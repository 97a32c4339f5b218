// Channels whose connections a connector of the user's makes: with a prologue, and with bytes changed on
// the way.
#include "coracle/client/connector.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/net/listener.hpp"
#include "support/certificates.hpp"
#include "support/echo_fixture.hpp"
#include "support/shuffled_stream.hpp"

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <string>
#include <utility>

namespace coracle::testing_support::connector_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Forwards connections to the server after a prologue; `changed` ones come and go with changed bytes.
class relay {
 public:
  explicit relay(net::address server)
      : server_(std::move(server)), listening_(*net::listener::open(net::address::loopback_v4(0))) {}
  [[nodiscard]] net::address where() const { return listening_.local_address(); }
  bool changed = true;
  bool answers = true;
  std::size_t cut_after_bytes = ~std::size_t{0};  // to the client, over all connections
  bool holds = false;  // takes nothing more from clients until let_go() is called
  int connections = 0;

  void start() { work_.spawn(accept()); }
  void let_go() {
    holds = false;
    go_.set();
  }
  task<> stop() {
    work_.request_stop();
    try {
      co_await work_.join();
    } catch (const coro::cancelled&) {
    }
    co_await listening_.close();
  }

 private:
  task<> accept() {
    while (true) {
      result<net::stream> next = co_await listening_.accept();
      if (!next) co_return;
      ++connections;
      work_.spawn(serve(*std::move(next)));
    }
  }
  task<> serve(net::stream client) {
    std::array<std::uint8_t, 6> hello;
    for (std::size_t n = 0; n < hello.size();) {
      const auto more = co_await client.read(mutable_bytes(hello).subspan(n));
      if (!more || *more == 0) co_return;
      n += *more;
    }
    const std::string reply(as_text(hello) == "hello\n" && answers ? "here\n" : "away\n");
    (void)co_await client.write(as_bytes(reply));
    if (reply != "here\n") co_return;
    result<net::stream> server = co_await net::stream::connect(server_);
    if (!server) co_return;
    scope both{co_await coro::this_environment()};
    both.spawn(pump(client, *server, true));
    both.spawn(pump(*server, client, false));
    try {
      co_await both.join();
    } catch (const coro::cancelled&) {
    }
  }
  task<> pump(net::stream& from, net::stream& to, bool from_client) {
    std::array<std::uint8_t, 4096> bytes;
    while (true) {
      while (from_client && holds) {
        go_.reset();
        co_await go_;
      }
      const auto got = co_await from.read(bytes);
      if (!got || *got == 0) break;
      const mutable_bytes some(bytes.data(), *got);
      if (changed) shuffle(some);
      if (!from_client &&
          std::exchange(cut_after_bytes, cut_after_bytes - std::min(cut_after_bytes, *got)) <= *got) {
        cut_after_bytes = ~std::size_t{0};
        throw coro::cancelled();  // ends both directions
      }
      if (const status s = co_await to.write(some); !s.ok()) break;
    }
    to.shutdown_send();
  }

  const net::address server_;
  net::listener listening_;
  event<> go_;
  scope work_;
};

class by_relay final : public connector {
 public:
  by_relay(net::address relay, bool changed) : relay_(std::move(relay)), changed_(changed) {}
  task<result<std::unique_ptr<net::byte_stream>>> connect() override {
    result<net::stream> made = co_await net::stream::connect(relay_);
    if (!made) co_return made.status();
    const std::string hello = "hello\n";
    if (const status s = co_await made->write(as_bytes(hello)); !s.ok()) co_return s;
    std::array<std::uint8_t, 5> answer;
    for (std::size_t n = 0; n < answer.size();) {
      const auto more = co_await made->read(mutable_bytes(answer).subspan(n));
      if (!more) co_return more.status();
      if (*more == 0) co_return status::unavailable("the relay hung up");
      n += *more;
    }
    if (as_text(answer) != "here\n") co_return status::unavailable("the relay knows no way");
    if (!changed_) co_return net::to_byte_stream(*std::move(made));
    co_return std::make_unique<shuffled_stream>(*std::move(made));
  }
  [[nodiscard]] std::string authority() const override { return "localhost:1"; }

 private:
  const net::address relay_;
  const bool changed_;
};

class a_connector_of_ones_own : public echo_fixture {
 public:
  using echo_fixture::rt;
  using echo_fixture::service_;

 protected:
  using body = task<> (*)(a_connector_of_ones_own&, relay&, channel&);
  static task<> with_relay(a_connector_of_ones_own& test, body program, channel_credentials credentials,
                           bool changed) {
    relay r(*net::address::parse(test.address_));
    r.changed = changed;
    r.start();
    {
      channel c(test.rt(), std::make_shared<by_relay>(r.where(), changed), credentials);
      co_await program(test, r, c);
    }
    co_await r.stop();
  }
  void run_over(body program, bool changed = true, const channel_credentials& credentials = insecure()) {
    sync_wait(rt(), rt().at(0), with_relay(*this, program, credentials, changed));
  }
  static task<status> ask(channel& c, call_options o = within(20s)) {
    const echo::Text request = text("ahoy");
    const auto reply = co_await echo_stub(c).Say(request, o);
    if (reply && reply->text() != "ahoy") co_return status::internal("another text");
    co_return reply.status();
  }

  static task<> call(a_connector_of_ones_own&, relay& r, channel& c) {
    EXPECT_EQ(co_await ask(c), status());
    EXPECT_EQ(co_await ask(c), status());
    EXPECT_EQ(r.connections, 1);
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, a_connector_of_ones_own, every_world_over_tcp, echo_fixture::case_name);

TEST_P(a_connector_of_ones_own, CarriesCalls) {
  run_over(call);
  run_over(call, false);
}

TEST_P(a_connector_of_ones_own, CarriesMegabytesInStreamsBothWays) {
  const auto program = [](a_connector_of_ones_own&, relay&, channel& c) -> task<> {
    auto chat = echo_stub(c).Chat(within(60s));
    const echo::Text large = text(std::string(100'000, 'x'));
    for (int i = 0; i < 20; ++i) {
      (co_await chat.write(large)).throw_if_error();
      const auto back = (co_await chat.next()).value();
      EXPECT_TRUE(back && back->text() == large.text());
    }
    EXPECT_EQ(co_await chat.finish(), status());
  };
  run_over(program);
  run_over(program, false);
}

TEST_P(a_connector_of_ones_own, FailsCallsWithItsReason) {
  run_over([](a_connector_of_ones_own&, relay& r, channel& c) -> task<> {
    r.answers = false;
    EXPECT_EQ(co_await ask(c), status::unavailable("cannot connect to localhost:1: the relay knows no way"));
    r.answers = true;
    call_options waiting = within(20s);
    waiting.wait_for_ready = true;
    EXPECT_EQ(co_await ask(c, waiting), status()) << "it is asked again";
  });
}

TEST_P(a_connector_of_ones_own, IsAskedAgainWhenItsStreamEndsAbruptly) {
  run_over([](a_connector_of_ones_own&, relay& r, channel& c) -> task<> {
    EXPECT_EQ(co_await ask(c), status());
    r.cut_after_bytes = 100'000;
    const echo::Text large = text(std::string(300'000, 'x'));
    const auto reply = co_await echo_stub(c).Say(large, within(20s));
    EXPECT_EQ(reply.status().code(), status_code::unavailable) << reply.status();
    call_options waiting = within(20s);
    waiting.wait_for_ready = true;
    EXPECT_EQ(co_await ask(c, waiting), status());
    EXPECT_EQ(r.connections, 2);
  });
}

TEST_P(a_connector_of_ones_own, HoldsAWriterWhileNothingIsTakenFromIt) {
  run_over([](a_connector_of_ones_own&, relay& r, channel& c) -> task<> {
    auto chat = echo_stub(c).Chat(within(60s));
    const echo::Text first = text("first");
    (co_await chat.write(first)).throw_if_error();
    EXPECT_EQ((co_await chat.next()).value()->text(), "first");
    r.holds = true;
    // More than the windows of HTTP/2 and the kernel's buffers together.
    const echo::Text large = text(std::string(1 << 20, 'x'));
    int written = 0;
    const auto write = [](auto& to, const echo::Text& one, int& count) -> task<> {
      for (; count < 64; ++count) {
        const status sent = co_await to.write(one);
        sent.throw_if_error();
      }
      co_await to.writes_done();
    };
    scope writing;
    writing.spawn(write(chat, large, written));
    co_await sleep_for(50ms);  // sleeps on purpose: time in which nothing may happen
    EXPECT_LT(written, 64);
    r.let_go();
    int read = 0;
    while ((co_await chat.next()).value()) ++read;
    EXPECT_EQ(read, 64);
    co_await writing.join();
  });
}

TEST_P(a_connector_of_ones_own, IsAsPrivateAsItsCredentialsSay) {
  certificates::made();
  if (auto* world = sim_world()) {
    const auto behind = std::chrono::system_clock::now() - rt().at(0).wall_now();
    world->jump_wall_clock("host", std::chrono::duration_cast<duration>(behind));
  }
  server_.emplace(rt());
  server_->add(service_);
  ASSERT_EQ(server_->listen("127.0.0.1:0", served_as("server")), status());
  address_ = "127.0.0.1:" + std::to_string(server_->port());
  run_over(call, true, trusting("ca"));
  run_over(call, false, trusting("ca"));
  run_over(
      [](a_connector_of_ones_own&, relay& r, channel& c) -> task<> {
        r.cut_after_bytes = 100;  // within the handshake
        const status outcome = co_await ask(c);
        EXPECT_EQ(outcome.code(), status_code::unavailable);
        EXPECT_THAT(std::string(outcome.message()), HasSubstr("the TLS handshake failed"));
      },
      true, trusting("ca"));
  run_over(
      [](a_connector_of_ones_own&, relay&, channel& c) -> task<> {
        const status outcome = co_await ask(c);
        EXPECT_THAT(std::string(outcome.message()), HasSubstr("the server's certificate is not accepted"));
      },
      true, trusting("recipe_ca"));
}

// --- cancel

// Says when it was asked and when it was told to stop.
class never_connects final : public connector {
 public:
  event<> asked;
  event<> stopped;
  task<result<std::unique_ptr<net::byte_stream>>> connect() override {
    asked.set();
    try {
      co_await sleep_for(1h);
    } catch (const coro::cancelled&) {
      stopped.set();
      throw;
    }
    co_return status::unavailable("never");
  }
  [[nodiscard]] std::string authority() const override { return "never"; }
};

TEST_P(a_connector_of_ones_own, IsToldToStopWhenItsChannelEnds) {
  const auto program = [](a_connector_of_ones_own& test) -> task<> {
    const auto by = std::make_shared<never_connects>();
    {
      channel c(test.rt(), by);
      c.connect();
      co_await by->asked;
    }
    co_await by->stopped;
  };
  run(program(*this));
}

TEST_P(a_connector_of_ones_own, LosesACallThatIsCancelledAndNothingElse) {
  run_over([](a_connector_of_ones_own& test, relay& r, channel& c) -> task<> {
    const auto hang = [](channel& by) -> task<status> {
      const echo::Text request = text("hang");
      const auto reply = co_await echo_stub(by).Misbehave(request);
      co_return reply.status();
    };
    task<status> asking = hang(c);
    const status outcome = co_await with_timeout(50ms, std::move(asking));
    EXPECT_EQ(outcome.code(), status_code::deadline_exceeded) << outcome;
    EXPECT_EQ(co_await ask(c), status());
    EXPECT_EQ(r.connections, 1);
    while (test.service_.stopped == 0)
      co_await sleep_for(1ms);  // sleeps on purpose: the cancellation travels
  });
}

// A connector may throw, and return nothing.
class returns_nothing final : public connector {
 public:
  task<result<std::unique_ptr<net::byte_stream>>> connect() override {
    co_return std::unique_ptr<net::byte_stream>();
  }
  [[nodiscard]] std::string authority() const override { return "nowhere"; }
};

TEST_P(a_connector_of_ones_own, MayNotReturnANullPointer) {
  channel c(rt(), std::make_shared<returns_nothing>());
  EXPECT_EQ(run(ask(c)),
            status::unavailable("cannot connect to nowhere: the connector returned a null pointer"));
}

}  // namespace
}  // namespace coracle::testing_support::connector_test
