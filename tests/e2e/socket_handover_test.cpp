// A server hands each new connection to the loop that has the fewest.
#include "support/echo_service.hpp"
#include "support/every_backend.hpp"

#include "coracle/runtime/loop.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing_support::socket_handover_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t loops = 3;

// Replies with the number of its loop.
class placed_service final : public echo_service {
 public:
  reply<echo::Text> SayAtOnce(server_context&, const echo::Text&) override {
    echo::Text reply;
    reply.set_count(static_cast<int>(loop::current()->index()));
    return reply;
  }
};

class hand_over : public every_backend {
 protected:
  hand_over() : every_backend(loops) {}

  struct client {
    client() = default;  // not an aggregate: GCC 12 destroys those twice where they are awaited
    std::unique_ptr<channel> line;
    int loop = -1;
  };
  static task<client> connect(std::string at) {
    client c;
    c.line = std::make_unique<channel>(loop::current()->owner(), at, insecure());
    const echo::Text request;
    const auto reply = co_await echo_stub(*c.line).SayAtOnce(request);
    EXPECT_EQ(reply.status(), status());
    if (reply) c.loop = reply->count();
    co_return c;
  }
  // Time passes between two checks: a simulated world ends where it does not.
  static task<> until_connected(server& s, std::size_t connections) {
    for (;;) {
      const server_snapshot now = co_await s.snapshot();
      if (now.connections.size() == connections) co_return;
      co_await sleep_for(1ms);
    }
  }
  static task<> until_running(server& s, std::uint64_t calls) {
    for (;;) {
      const server_snapshot now = co_await s.snapshot();
      if (now.calls_started - now.calls_succeeded - now.calls_failed == calls) co_return;
      co_await sleep_for(1ms);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, hand_over, all_kinds, every_backend::case_name);

TEST_P(hand_over, GoesToTheLoopWithTheFewestConnections) {
  placed_service service;
  server s(rt());
  s.add(service);
  ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
  struct program {
    static task<> play(server& s) {
      const std::string at = "127.0.0.1:" + std::to_string(s.port());
      std::vector<client> clients;
      std::vector<int> counts(loops);
      for (int i = 0; i < 9; ++i) {
        client c = co_await connect(at);
        ++counts.at(static_cast<std::size_t>(c.loop));
        clients.push_back(std::move(c));
      }
      EXPECT_EQ(counts, std::vector<int>(loops, 3));
      std::erase_if(clients, [](const client& c) { return c.loop == 1; });
      co_await until_connected(s, 6);
      for (int i = 0; i < 3; ++i) {
        client c = co_await connect(at);
        EXPECT_EQ(c.loop, 1) << "it lost all that it had";
        clients.push_back(std::move(c));
      }
    }
  };
  run(program::play(s));
}

TEST_P(hand_over, GivesNoLoopALimitOfCallsOfItsOwn) {
  placed_service service;
  server_options options;
  options.limits = server_limits{.calls = 2};
  server s(rt(), options);
  s.add(service);
  ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
  struct program {
    static task<> hang(channel& on) {
      echo::Text request;
      request.set_text("hang");
      (void)co_await echo_stub(on).Misbehave(request);
    }
    static task<> play(server& s) {
      const std::string at = "127.0.0.1:" + std::to_string(s.port());
      std::vector<client> clients;
      for (std::size_t i = 0; i < loops; ++i) {
        client c = co_await connect(at);
        clients.push_back(std::move(c));
      }
      scope work{co_await coro::this_environment()};
      work.spawn(hang(*clients[0].line));
      work.spawn(hang(*clients[1].line));
      co_await until_running(s, 2);
      const echo::Text request;
      const auto third = co_await echo_stub(*clients[2].line).SayAtOnce(request);
      EXPECT_EQ(third.status().code(), status_code::unavailable) << third.status();
      work.request_stop();
      co_await work.join();
      co_await until_running(s, 0);
      const auto fourth = co_await echo_stub(*clients[2].line).SayAtOnce(request);
      EXPECT_EQ(fourth.status(), status());
    }
  };
  run(program::play(s));
}

}  // namespace
}  // namespace coracle::testing_support::socket_handover_test
