// Clients and servers whose loops have no thread of their own: an event loop of plain poll(2) drives them,
// together with a pipe of its own.
#include "support/echo_fixture.hpp"

#include "coracle/coro/scope.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

namespace coracle::testing_support::foreign_loop_test {
namespace {

using namespace std::chrono_literals;

constexpr int long_ms = 20'000;  // nothing here waits this long unless it hangs

class poll_loop {
 public:
  poll_loop() {
    if (::pipe(pipe_) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  }
  poll_loop(const poll_loop&) = delete;
  poll_loop& operator=(const poll_loop&) = delete;
  ~poll_loop() {
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }

  // From any thread.
  void send() { EXPECT_EQ(::write(pipe_[1], "x", 1), 1); }
  // The bytes that send() wrote.
  [[nodiscard]] std::size_t received() const noexcept { return received_; }

  void drive(const std::vector<runtime*>& guests, const std::function<bool()>& keep_going) {
    while (keep_going()) {
      std::vector<pollfd> watched{{pipe_[0], POLLIN, 0}};
      for (runtime* one : guests) watched.push_back({one->pollable(), POLLIN, 0});
      if (::poll(watched.data(), watched.size(), long_ms) <= 0) {
        ADD_FAILURE() << "nothing happened for " << long_ms << " ms";
        break;
      }
      if (watched[0].revents != 0) receive();
      for (std::size_t i = 0; i < guests.size(); ++i)
        if (watched[i + 1].revents != 0) guests[i]->poll();
    }
    for (runtime* one : guests) one->release_loop();
  }

 private:
  void receive() {
    char bytes[64];
    const auto n = ::read(pipe_[0], bytes, sizeof bytes);
    if (n > 0) received_ += static_cast<std::size_t>(n);
  }
  int pipe_[2];
  std::size_t received_ = 0;
};

class calls_in_a_foreign_loop : public ::testing::TestWithParam<world_kind> {
 protected:
  void SetUp() override {
    for (any_world* world : {&client_, &server_})
      if (!world->get()) GTEST_SKIP() << world->missing();
    serving_.emplace(*server_.get());
    serving_->add(service_);
    ASSERT_EQ(serving_->listen("127.0.0.1:0", insecure()), status());
    channel_.emplace(*client_.get(), "127.0.0.1:" + std::to_string(serving_->port()), insecure());
  }
  // A server waits for its peers to close: nothing drives the client's loop any more, so it drives itself.
  void TearDown() override {
    if (!channel_) return;
    channel_.reset();
    client_.get()->start();
    serving_.reset();
  }
  echo_stub stub() { return echo_stub(*channel_); }

  any_world client_{GetParam()};
  any_world server_{GetParam()};
  echo_service service_;
  std::optional<server> serving_;
  std::optional<channel> channel_;
  poll_loop host_;
};
INSTANTIATE_TEST_SUITE_P(Backends, calls_in_a_foreign_loop, kernel_kinds,
                         [](const auto& one) { return name_of(one.param); });

constexpr int rounds = 50;

echo::Text numbered(int count) {
  echo::Text m;
  m.set_text("abc");
  m.set_count(count);
  return m;
}

struct tally {
  int unary = 0, downloaded = 0, uploaded = 0, chatted = 0;
  bool done = false;
};

task<> call_all_kinds(echo_stub s, tally& t, poll_loop& host) {
  const echo::Text three = numbered(3);
  for (int i = 0; i < rounds; ++i) {
    const auto reply = co_await s.Say(three);
    t.unary += reply ? 1 : 0;
    auto download = s.Repeat(three);
    while (const auto one = (co_await download.next()).value()) ++t.downloaded;
    auto upload = s.Collect();
    for (int n = 0; n < 3; ++n) (co_await upload.write(three)).throw_if_error();
    const auto joined = co_await upload.finish();
    t.uploaded += joined ? joined->count() : 0;
    auto chat = s.Chat();
    for (int n = 0; n < 3; ++n) {
      (co_await chat.write(three)).throw_if_error();
      const auto back = (co_await chat.next()).value();
      t.chatted += back ? 1 : 0;
    }
    const status end = co_await chat.finish();
    EXPECT_EQ(end, status());
    host.send();  // the host's own work continues between the calls
  }
  t.done = true;
}

TEST_P(calls_in_a_foreign_loop, ClientAndServerMakeAllKindsOfCall) {
  tally t;
  client_.get()->spawn(call_all_kinds(stub(), t, host_));
  host_.drive({client_.get(), server_.get()},
              [&] { return !t.done || host_.received() < static_cast<std::size_t>(rounds); });
  EXPECT_EQ(t.unary, rounds);
  EXPECT_EQ(t.downloaded, 3 * rounds);
  EXPECT_EQ(t.uploaded, 3 * rounds);
  EXPECT_EQ(t.chatted, 3 * rounds);
}

TEST_P(calls_in_a_foreign_loop, AServerServesTheClientOfAnotherThread) {
  tally t;
  std::thread blocking([&] {
    sync_wait(*client_.get(), call_all_kinds(stub(), t, host_));
    host_.send();
  });
  host_.drive({server_.get()}, [&] { return host_.received() < static_cast<std::size_t>(rounds) + 1; });
  blocking.join();
  EXPECT_TRUE(t.done);
  EXPECT_EQ(t.unary + t.downloaded + t.uploaded + t.chatted, 10 * rounds);
}

TEST_P(calls_in_a_foreign_loop, AClientCallsTheServerOfAnotherThread) {
  serving_->start();
  tally t;
  client_.get()->spawn(call_all_kinds(stub(), t, host_));
  host_.drive({client_.get()}, [&] { return !t.done; });
  EXPECT_EQ(t.unary + t.downloaded + t.uploaded + t.chatted, 10 * rounds);
}

TEST_P(calls_in_a_foreign_loop, ADeadlineEndsACallOnBothSides) {
  struct program {
    static task<> hang(echo_stub s, status& end) {
      echo::Text request;
      request.set_text("hang");
      const auto reply = co_await s.Misbehave(request, within(50ms));
      end = reply.status();
    }
  };
  status end;
  client_.get()->spawn(program::hang(stub(), end));
  host_.drive({client_.get(), server_.get()}, [&] { return end.ok() || service_.stopped == 0; });
  EXPECT_EQ(end.code(), status_code::deadline_exceeded);
}

TEST_P(calls_in_a_foreign_loop, ADrainEndsAfterTheCallsInFlight) {
  struct program {
    static task<> chat_on(echo_stub s, server& serving, bool& drained, status& end) {
      auto call = s.Chat();
      const echo::Text one = numbered(1);
      (co_await call.write(one)).throw_if_error();
      auto back = (co_await call.next()).value();
      EXPECT_TRUE(back);
      scope draining{co_await coro::this_environment()};
      draining.spawn(drain(serving, drained));
      (co_await call.write(one)).throw_if_error();
      back = (co_await call.next()).value();
      EXPECT_TRUE(back) << "a drain lets calls in flight go on";
      end = co_await call.finish();
      co_await draining.join();
    }
    static task<> drain(server& serving, bool& drained) {
      co_await serving.drain(1h);
      drained = true;
    }
  };
  bool drained = false;
  status end = status::unknown("the call has not ended");
  client_.get()->spawn(program::chat_on(stub(), *serving_, drained, end));
  host_.drive({client_.get(), server_.get()}, [&] { return !drained; });
  EXPECT_EQ(end, status());
}

}  // namespace
}  // namespace coracle::testing_support::foreign_loop_test
