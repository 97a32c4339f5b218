// Calls that are started outside coroutines: what they may outlive, and how they end.
#include "support/echo_fixture.hpp"

#include "coracle/client/start.hpp"
#include "coracle/coro/sleep.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace coracle::testing_support::start_test {
namespace {

using namespace std::chrono_literals;

template <class T>
auto keep(std::optional<T>& into) {
  return [&into](outcome<T> o) { into.emplace(std::move(o).value()); };
}

class started_calls : public echo_fixture {};
INSTANTIATE_TEST_SUITE_P(Everywhere, started_calls, every_world_and_link, echo_fixture::case_name);

TEST_P(started_calls, AUnaryCallOutlivesItsRequestAndItsStub) {
  std::optional<result<echo::Text>> borrowed;
  std::optional<result<echo::Text>> owned;
  {
    const echo::Text request = text("hello", 1);
    start(stub().Say(request), keep(borrowed)).detach();
    start(stub().Say(text("moved", 1)), keep(owned)).detach();
  }
  channel_.reset();
  rt().run();
  ASSERT_TRUE(borrowed && borrowed->ok()) << borrowed->status();
  EXPECT_EQ((*borrowed)->text(), "hello");
  ASSERT_TRUE(owned && owned->ok()) << owned->status();
  EXPECT_EQ((*owned)->text(), "moved");
}

TEST_P(started_calls, AnExpiredDeadlineAndACancelAreStatuses) {
  std::optional<result<echo::Text>> late;
  std::optional<result<echo::Text>> cancelled;
  start(stub().Say(text("late"), within(0s)), keep(late)).detach();
  started dropped = start(stub().Say(text("dropped")), keep(cancelled));
  dropped.cancel();
  rt().run();
  EXPECT_EQ(late->status().code(), status_code::deadline_exceeded);
  EXPECT_EQ(cancelled->status().code(), status_code::cancelled);
}

TEST_P(started_calls, AStreamWritesReadsAndEnds) {
  auto chat = std::make_unique<bidi_call<echo::Text, echo::Text>>(stub().Chat());
  std::optional<status> written;
  std::optional<result<std::optional<echo::Text>>> read;
  std::optional<status> ended;
  start(chat->write(text("hello")), keep(written)).detach();
  start(chat->next(), keep(read)).detach();
  rt().run();
  EXPECT_EQ(*written, status());
  ASSERT_TRUE(read->ok() && read->value());
  EXPECT_EQ(read->value()->text(), "hello");
  start(chat->finish(), keep(ended)).detach();
  rt().run();
  EXPECT_EQ(*ended, status());
}

TEST_P(started_calls, ADestroyedStreamCancelsItsOperationsBeforeTheyBegin) {
  std::optional<status> written;
  std::optional<result<std::optional<echo::Text>>> read;
  {
    auto chat = stub().Chat();
    start(chat.write(text("never")), keep(written)).detach();
    start(chat.next(), keep(read)).detach();
  }
  rt().run();
  EXPECT_EQ(read->status().code(), status_code::cancelled);
  EXPECT_TRUE(written->ok() || written->code() == status_code::cancelled) << *written;
}

// The last handle of a call is often the one that its own function holds.
TEST_P(started_calls, AStreamMayBeDestroyedByTheFunctionOfItsOperation) {
  using chat_call = bidi_call<echo::Text, echo::Text>;
  auto chat = std::make_unique<chat_call>(stub().Chat());
  chat_call& call = *chat;
  bool read = false;
  std::optional<status> finish;
  start(call.write(text("hello")), [](const outcome<status>&) {}).detach();
  start(call.next(), [&](outcome<result<std::optional<echo::Text>>> o) {
    read = o.value().ok();
    chat.reset();
  }).detach();
  rt().run();
  EXPECT_TRUE(read);
  EXPECT_FALSE(chat);
}

TEST_P(started_calls, AnOperationThatWaitsForTheEndOutlivesItsStream) {
  std::optional<status> ended;
  std::optional<result<echo::Text>> collected;
  auto body = [](echo_stub s, std::optional<status>& end, std::optional<result<echo::Text>>& all) -> task<> {
    auto chat = std::make_unique<bidi_call<echo::Text, echo::Text>>(s.Chat());
    auto upload = std::make_unique<client_streaming_call<echo::Text, echo::Text>>(s.Collect());
    start(chat->finish(), keep(end)).detach();
    start(upload->finish(), keep(all)).detach();
    co_await sleep_for(0ms);
    chat.reset();
    upload.reset();
  };
  run(body(stub(), ended, collected));
  rt().run();
  EXPECT_TRUE(ended);
  EXPECT_TRUE(collected);
}

// A handle of a stream that is dropped on a plain thread while the loop runs its operations.
TEST_P(started_calls, StreamsAreDroppedOnAnotherThread) {
  if (sim_world()) return;  // its loops run on the test's thread
  rt().start();
  for (int i = 0; i < 100; ++i) {
    std::vector<std::optional<result<std::optional<echo::Text>>>> reads(1);
    std::atomic<bool> over = false;
    {
      auto chat = stub().Chat();
      start(chat.write(text("hello")), [](const outcome<status>&) {}).detach();
      start(chat.next(), [&](outcome<result<std::optional<echo::Text>>> o) {
        reads[0] = std::move(o).value();
        over = true;
        over.notify_one();
      }).detach();
      if (i % 3 == 0) over.wait(false);
    }
    over.wait(false);
    EXPECT_TRUE(reads[0]->ok() || reads[0]->status().code() == status_code::cancelled) << reads[0]->status();
  }
}

}  // namespace
}  // namespace coracle::testing_support::start_test
