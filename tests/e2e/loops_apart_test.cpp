// Loops share nothing: while calls run on two of them, no thread posts anything to either.
#include "support/echo_service.hpp"
#include "support/every_backend.hpp"

#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/on.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace coracle::testing_support::loops_apart_test {
namespace {

constexpr std::size_t loops = 2;
constexpr int calls = 500;

// A server with two loops, and a client with two, on one runtime: each loop has both.
class loops_apart : public every_backend {
 protected:
  loops_apart() : every_backend(loops) {}
  void SetUp() override {
    every_backend::SetUp();
    if (IsSkipped()) return;
    server_.emplace(rt());
    server_->add(service_);
    ASSERT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
    channel_.emplace(rt(), "127.0.0.1:" + std::to_string(server_->port()), insecure());
    // Connections are established and handed to their loops.
    for (std::size_t i = 0; i < loops; ++i)
      sync_wait(rt(), rt().at(i), program::call(echo_stub(*channel_), 10));
  }

  struct program {
    static task<> call(echo_stub s, int times) {
      echo::Text one;
      one.set_text("abc");
      for (int i = 0; i < times; ++i) {
        const auto back = co_await s.Say(one);
        EXPECT_EQ(back.value().text(), "abc");
      }
      auto chat = s.Chat();
      echo::Text back;
      for (int i = 0; i < times; ++i) {
        (co_await chat.write(one)).throw_if_error();
        EXPECT_TRUE((co_await chat.read(back)).value());
      }
      co_await chat.writes_done();
      EXPECT_FALSE((co_await chat.read(back)).value());
      const status end = co_await chat.finish();
      EXPECT_EQ(end, status());
    }
    static task<loop_counters> spent(echo_stub s) {
      const loop_counters before = loop::current()->stats();
      co_await call(s, calls);
      co_return loop::current()->stats() - before;
    }
    static task<loop_counters> there(loop& where, echo_stub s) { co_return co_await on(where, spent(s)); }
    static task<std::vector<loop_counters>> on_all(runtime& on_these, echo_stub s) {
      std::vector<task<loop_counters>> each;
      for (std::size_t i = 0; i < loops; ++i) each.push_back(there(on_these.at(i), s));
      co_return co_await when_all(std::move(each));
    }
  };

  echo_service service_;
  std::optional<server> server_;
  std::optional<channel> channel_;
};
INSTANTIATE_TEST_SUITE_P(On, loops_apart, all_kinds, every_backend::case_name);

TEST_P(loops_apart, PassNothingToEachOtherForACall) {
  const std::vector<loop_counters> spent = run(program::on_all(rt(), echo_stub(*channel_)));
  std::size_t letters = 0;
  for (std::size_t i = 0; i < loops; ++i) {
    EXPECT_GE(spent[i].completions, std::uint64_t{calls}) << "loop " << i << " did its share";
    letters += spent[i].remote_posts;
  }
  // The loop that reports the end of the other loop's calls may still run its own.
  EXPECT_LE(letters, 1u);
}

}  // namespace
}  // namespace coracle::testing_support::loops_apart_test
