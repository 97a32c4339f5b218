// What the headers of callbacks claim about threads: several threads start calls, run their functions, answer
// calls and use the handles of observers while calls run on two loops. ThreadSanitizer runs these tests, too.
//
//   client/then.hpp             calls and operations, executors
//   server/responder.hpp        answers
//   server/stream_observer.hpp  the handles of observers
#include "support/echo_service.hpp"
#include "support/kept_functions.hpp"

#include "coracle/client/then.hpp"
#include "coracle/server/responder.hpp"
#include "coracle/server/stream_observer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::callback_thread_claims_test {
namespace {

using said = result<echo::Text>;
using read = result<std::optional<echo::Text>>;

// Runs each function on a thread of its own.
struct new_thread {
  ~new_thread() {
    for (std::thread& t : threads) t.join();
  }
  void execute(std::function<void()> f) {
    const std::lock_guard lock(mutex);
    threads.emplace_back(std::move(f));
  }
  std::mutex mutex;
  std::vector<std::thread> threads;
};

// Functions that start the next calls on the loop, handles that are dropped on other threads, and a pool.
TEST(callback_thread_claims, CallsAreStartedDroppedAndExecutedOnSeveralThreads) {
  runtime rt(2);
  echo_service service;
  server s(rt);
  s.add(service);
  const channel to(rt, s.in_process());
  rt.start();
  kept_functions pool;
  new_thread threads;
  std::atomic<int> ended = 0;
  constexpr int calls = 200;
  std::thread worker([&] {
    for (int i = 0; i < calls; ++i) pool.run_one();
  });
  std::thread other([&] {
    const echo_stub stub(to);
    for (int i = 0; i < calls; ++i) {
      echo::Text request;
      request.set_text("pooled");
      stub.Say(request).then(std::ref(pool), [&](const said&) { ++ended; }).detach();
    }
  });
  {
    const echo_stub stub(to);
    std::vector<started> dropped;
    for (int i = 0; i < calls; ++i) {
      started call = stub.Say(echo::Text()).then([&](const said&) { ++ended; });
      if (i % 2 == 0) call.cancel();
      else dropped.push_back(std::move(call));
    }
    auto chat = stub.Chat();
    std::promise<void> read_all;
    std::promise<void> wrote_all;
    std::function<void(int)> write_next = [&](int left) {
      if (left == 0) return wrote_all.set_value();
      echo::Text one;
      chat.write(one).then(std::ref(threads), [&, left](const status&) { write_next(left - 1); });
    };
    std::function<void(int)> read_next = [&](int left) {
      if (left == 0) return read_all.set_value();
      chat.next().then([&, left](const read& m) {
        EXPECT_TRUE(m.ok());
        read_next(left - 1);
      });
    };
    write_next(100);
    read_next(100);
    read_all.get_future().wait();
    wrote_all.get_future().wait();
  }
  worker.join();
  other.join();
  rt.run();
  EXPECT_EQ(ended, 2 * calls);
}

// Answers of other threads meet cancellations of the client, the end of the call and that of the server.
TEST(callback_thread_claims, AnswersMeetCancellations) {
  runtime rt(2);
  std::mutex mutex;
  std::vector<responder<echo::Text>> open;
  struct racing final : echo_service {
    std::mutex* lock;
    std::vector<responder<echo::Text>>* to;
    reply<echo::Text> Say(server_context& context, const echo::Text&) override {
      return respond_later(context, [&](responder<echo::Text> r) {
        const std::lock_guard held(*lock);
        to->push_back(std::move(r));
      });
    }
  } races;
  races.lock = &mutex;
  races.to = &open;
  std::atomic<bool> over = false;
  std::atomic<int> answered = 0;
  std::atomic<int> ended = 0;
  std::thread answers([&] {
    int calls = 0;
    while (!over) {
      std::vector<responder<echo::Text>> taken;
      {
        const std::lock_guard held(mutex);
        taken.swap(open);
      }
      if (taken.empty()) std::this_thread::yield();
      for (responder<echo::Text>& call : taken)
        if (calls++ % 3 != 0) call.answer(echo::Text());  // the others are dropped
    }
  });
  {
    server s(rt);
    s.add(races);
    const channel to(rt, s.in_process());
    const echo_stub stub(to);
    rt.start();
    std::vector<started> calls;
    for (int i = 0; i < 300; ++i) {
      calls.push_back(stub.Say(echo::Text()).then([&](const result<echo::Text>& reply) {
        if (reply) ++answered;
        ++ended;
        ended.notify_one();
      }));
      if (i % 2 == 0) calls[static_cast<std::size_t>(i) / 2].cancel();
    }
    for (int now = ended; now < 300; now = ended) ended.wait(now);
    for (int i = 0; i < 50; ++i) stub.Say(echo::Text()).then([](const result<echo::Text>&) {}).detach();
  }
  over = true;
  answers.join();
  EXPECT_EQ(ended, 300);
  EXPECT_GT(answered, 0);
}

// Handles of streams that other threads use while their calls end.
TEST(callback_thread_claims, ObserversAreUsedByOtherThreads) {
  runtime rt(2);
  struct handles {
    std::mutex mutex;
    std::vector<std::pair<request_flow, reply_stream<echo::Text>>> open;
  } seen;
  class chatter final : public bidi_observer<echo::Text, echo::Text> {
   public:
    explicit chatter(handles& to) {
      requests().request(1);
      const std::lock_guard held(to.mutex);
      to.open.emplace_back(requests(), replies());
    }
    void on_message(echo::Text) override {}
    void on_half_close() override {}
  };
  struct observing final : echo_service {
    handles* to = nullptr;
    replies<echo::Text> Chat(server_context& context, reader<echo::Text> texts) override {
      return observe<chatter>(context, texts, *to);
    }
  } service;
  service.to = &seen;
  std::atomic<bool> over = false;
  std::thread user([&] {
    while (!over) {
      std::vector<std::pair<request_flow, reply_stream<echo::Text>>> taken;
      {
        const std::lock_guard held(seen.mutex);
        taken.swap(seen.open);
      }
      if (taken.empty()) std::this_thread::yield();
      for (auto& [requests, replies] : taken) {
        requests.request(2);
        for (int i = 0; i < 5 && replies.is_ready(); ++i) replies.write(echo::Text());
        replies.finish(status());
        EXPECT_THROW(replies.finish(status()), usage_error);
      }
    }
  });
  int read_to_the_end = 0;
  {
    server s(rt);
    s.add(service);
    const channel to(rt, s.in_process());
    const echo_stub stub(to);
    for (int i = 0; i < 100; ++i) {
      auto call = stub.Chat();
      if (i % 4 == 0) {
        call.start().then([] {});
        continue;  // cancels it
      }
      for (;;) {
        const auto message = sync_wait(call.next());
        ASSERT_TRUE(message.ok()) << message.status();
        if (!message.value()) break;
      }
      ++read_to_the_end;
    }
  }
  over = true;
  user.join();
  EXPECT_EQ(read_to_the_end, 75);
}

}  // namespace
}  // namespace coracle::testing_support::callback_thread_claims_test
