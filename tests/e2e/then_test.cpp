// Calls whose results are passed to functions, and to futures.
#include "support/echo_fixture.hpp"
#include "support/kept_functions.hpp"
#include "support/kept_log.hpp"

#include "coracle/client/then.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::then_test {
namespace {

using namespace std::chrono_literals;
using said = result<echo::Text>;
using read = result<std::optional<echo::Text>>;

class callbacks : public echo_fixture {};
INSTANTIATE_TEST_SUITE_P(Everywhere, callbacks, every_world_and_link, echo_fixture::case_name);

TEST_P(callbacks, AUnaryCallCallsItsFunctionOnTheLoopAndNotInsideThen) {
  bool inside = true;
  std::optional<said> borrowed;
  std::optional<said> owned;
  const echo::Text request = text("hello");
  stub()
      .Say(request)
      .then([&, only_moved = std::make_unique<int>(1)](said reply) {
        EXPECT_FALSE(inside);
        EXPECT_NE(loop::current(), nullptr);
        EXPECT_EQ(*only_moved, 1);
        borrowed = std::move(reply);
      })
      .detach();
  stub().Say(text("moved")).then([&](const said& reply) { owned = reply; }).detach();
  inside = false;
  rt().run();
  ASSERT_TRUE(borrowed && borrowed->ok()) << borrowed->status();
  EXPECT_EQ((*borrowed)->text(), "hello");
  ASSERT_TRUE(owned && owned->ok()) << owned->status();
  EXPECT_EQ((*owned)->text(), "moved");
}

TEST_P(callbacks, ADroppedHandleAndADeadlineAreStatuses) {
  std::optional<status> dropped;
  std::optional<status> late;
  {
    const started call = stub().Say(text("never")).then([&](const said& reply) { dropped = reply.status(); });
  }
  stub().Say(text("late"), within(0s)).then([&](const said& reply) { late = reply.status(); }).detach();
  rt().run();
  EXPECT_EQ(dropped->code(), status_code::cancelled);
  EXPECT_EQ(late->code(), status_code::deadline_exceeded);
}

TEST_P(callbacks, AFunctionGetsTheMetadataOfItsCall) {
  call_options options;
  options.metadata.add("x-first", "1");
  std::string initial;
  std::string trailing;
  stub()
      .Misbehave(text("metadata"), options)
      .then([&](said reply, const call_details& details) {
        EXPECT_EQ(reply.status(), status());
        initial = details.initial_metadata().find("x-first").value_or("");
        trailing = details.trailing_metadata().find("x-trailer").value_or("");
        EXPECT_FALSE(details.read_compressed());
      })
      .detach();
  rt().run();
  EXPECT_EQ(initial, "1");
  EXPECT_EQ(trailing, "late");
}

TEST_P(callbacks, EachOperationOfAStreamCallsItsFunction) {
  auto chat = stub().Chat();
  std::vector<std::string> events;
  const auto log = [&](std::string what) {
    return [&events, what = std::move(what)](const auto& outcome) {
      events.push_back(what + (outcome.ok() ? "" : " failed"));
    };
  };
  chat.start().then([&] { events.emplace_back("started"); });
  rt().run();
  chat.write(text("hello")).then(log("written"));
  rt().run();
  chat.wait_for_initial_metadata().then(log("headers"));
  rt().run();
  chat.next().then([&](read message) { events.push_back(message.value()->text()); });
  rt().run();
  chat.writes_done().then([&] { events.emplace_back("done"); });
  rt().run();
  chat.finish().then(log("finished"));
  rt().run();
  EXPECT_EQ(events, (std::vector<std::string>{"started", "written", "headers", "hello", "done", "finished"}));
}

// The misuse of a call is a result that names the call and the rule.
TEST_P(callbacks, AnOperationThatIsStartedTwiceIsAnError) {
  std::optional<said> first;
  std::optional<said> second;
  const status unary =
      status::internal("the call of /echo.Echo/Say was started twice: start each operation once");
  const echo::Text request = text("borrowed");
  auto borrowed = stub().Say(request);
  std::move(borrowed).then([&](said reply) { first = std::move(reply); }).detach();
  std::move(borrowed).then([&](said reply) { second = std::move(reply); }).detach();  // NOLINT: the misuse
  rt().run();
  EXPECT_EQ((*first)->text(), "borrowed");
  EXPECT_EQ(second->status(), unary);
  auto owned = stub().Say(text("owned"));
  std::move(owned).then([&](said reply) { first = std::move(reply); }).detach();
  auto future = std::move(owned).future();  // NOLINT: the misuse
  rt().run();
  EXPECT_EQ((*first)->text(), "owned");
  EXPECT_EQ(future.get().status(), unary);
  auto chat = stub().Chat();
  std::optional<status> written;
  std::optional<status> again;
  const echo::Text once = text("once");
  auto write = chat.write(once);
  std::move(write).then([&](status outcome) { written = std::move(outcome); });
  std::move(write).then([&](status outcome) { again = std::move(outcome); });  // NOLINT: the misuse
  rt().run();
  EXPECT_EQ(*written, status());
  EXPECT_EQ(*again,
            status::internal("the call of /echo.Echo/Chat has a write that was started twice: start each "
                             "operation once"));
}

TEST_P(callbacks, TwoReadsOrTwoWaitsAtOnceAreErrors) {
  auto chat = stub().Chat();
  std::vector<status> reads;
  for (int i = 0; i < 2; ++i)
    chat.next().then([&](const read& message) { reads.push_back(message.status()); });
  rt().run();
  const status two_reads = status::internal(
      "the call of /echo.Echo/Chat has two concurrent reads: let one task read and pass the messages on");
  EXPECT_EQ(reads, (std::vector<status>{two_reads, two_reads}));
  auto headers = stub().Chat();
  std::vector<status> waits;
  for (int i = 0; i < 2; ++i)
    headers.wait_for_initial_metadata().then([&](status outcome) { waits.push_back(std::move(outcome)); });
  headers.write(text("x")).then([](const status&) {});
  rt().run();
  EXPECT_THAT(waits,
              ::testing::UnorderedElementsAre(
                  status(), status::internal("the call of /echo.Echo/Chat has two concurrent waits for its "
                                             "initial metadata: let one task wait")));
}

TEST_P(callbacks, AnOperationOfACallThatHasEndedGetsItsStatus) {
  auto chat = stub().Chat();
  std::optional<status> ended;
  chat.finish().then([&](status outcome) { ended = std::move(outcome); });
  rt().run();
  EXPECT_EQ(*ended, status());
  std::optional<status> late;
  std::optional<read> nothing;
  std::optional<status> again;
  chat.write(text("late")).then([&](status outcome) { late = std::move(outcome); });
  chat.next().then([&](read message) { nothing.emplace(std::move(message)); });
  chat.finish().then([&](status outcome) { again = std::move(outcome); });
  rt().run();
  EXPECT_EQ(*late,
            status::cancelled("the call of /echo.Echo/Chat takes no message any more: it has ended, or its "
                              "last message was written"));
  ASSERT_TRUE(nothing->ok());
  EXPECT_FALSE(nothing->value());
  EXPECT_EQ(*again, status());
}

// The shape of most programs: an object that its functions share, and that is destroyed with the last one.
class lister : public std::enable_shared_from_this<lister> {
 public:
  lister(const echo_stub& s, echo::Text request, std::promise<int> total)
      : call_(s.Repeat(request)), total_(std::move(total)) {}
  void read_next() {
    call_.next().then([self = shared_from_this()](read message) {
      ASSERT_EQ(message.status(), status());
      if (!message.value()) return self->total_.set_value(self->count_);
      ++self->count_;
      self->read_next();
    });
  }

 private:
  server_streaming_call<echo::Text> call_;
  std::promise<int> total_;
  int count_ = 0;
};

TEST_P(callbacks, FunctionsReadAStreamToItsEnd) {
  std::promise<int> total;
  auto future = total.get_future();
  std::make_shared<lister>(stub(), text("again", 100), std::move(total))->read_next();
  rt().run();
  EXPECT_EQ(future.get(), 100);
}

TEST_P(callbacks, ADestroyedStreamEndsItsOperations) {
  std::optional<status> got;
  {
    stub().Chat().next().then([&](const read& message) { got = message.status(); });
  }
  rt().run();
  EXPECT_EQ(got->code(), status_code::cancelled);
}

TEST_P(callbacks, AnExecutorRunsTheFunction) {
  if (sim_world()) return;  // its loops run on the test's thread
  kept_functions pool;
  rt().start();
  std::optional<said> got;
  stub()
      .Say(text("pooled"))
      .then(std::ref(pool),
            [&, once = std::make_unique<int>(1)](said reply) {
              EXPECT_EQ(loop::current(), nullptr);
              got = std::move(reply);
            })
      .detach();
  pool.run_one();
  EXPECT_EQ((*got)->text(), "pooled");
  // A function that takes functions, and an object that the call copies.
  std::optional<status> written;
  auto chat = stub().Chat();
  chat.write(text("hello"))
      .then([&pool](auto f) { pool.post(std::move(f)); },
            [&](status outcome) { written = std::move(outcome); });
  pool.run_one();
  EXPECT_EQ(*written, status());
  struct copied {
    void execute(std::function<void()> f) const { to->post(std::move(f)); }
    kept_functions* to;
  };
  std::string answered;
  chat.next().then(copied{&pool}, [&](read message) { answered = message.value()->text(); });
  pool.run_one();
  EXPECT_EQ(answered, "hello");
}

TEST_P(callbacks, RunReturnsWhenTheExecutorHasRunOrDroppedTheFunctions) {
  if (sim_world()) return;
  kept_functions pool;
  std::optional<said> got;
  stub().Say(text("kept")).then(std::ref(pool), [&](said reply) { got = std::move(reply); }).detach();
  std::thread worker([&] { pool.run_one(); });
  rt().run();
  ASSERT_TRUE(got);
  worker.join();
  auto held = std::make_shared<int>(1);
  stub().Say(text("dropped")).then(std::ref(pool), [held](const said&) { FAIL(); }).detach();
  rt().run_while([&] { return pool.size() == 0; });
  EXPECT_EQ(held.use_count(), 2);
  pool.drop_all();
  EXPECT_EQ(held.use_count(), 1);
  rt().run();
}

TEST_P(callbacks, AFutureHasTheResult) {
  auto future = stub().Say(text("later")).future();
  auto failed = stub().Misbehave(text("status")).future();
  rt().run();
  EXPECT_EQ(future.get()->text(), "later");
  EXPECT_EQ(failed.get().status().code(), status_code::not_found);
}

// The end of the runtime ends a call: its function is called, and an executor's thread is not waited for.
TEST_P(callbacks, TheEndOfTheRuntimeIsAResult) {
  if (sim_world()) return;
  kept_functions pool;
  std::optional<status> hung;
  std::optional<status> late;
  {
    runtime own(1);
    const channel to(own, "127.0.0.1:1", insecure());
    call_options waits;
    waits.wait_for_ready = true;
    const echo_stub s(to);
    s.Say(text("x"), waits).then([&](const said& reply) { hung = reply.status(); }).detach();
    s.Say(text("x"))
        .then(std::ref(pool),
              [&](const said& reply) {
                late = reply.status();
                throw std::runtime_error("after the end of the runtime");
              })
        .detach();
    own.run_while([&] { return pool.size() == 0; });
  }
  EXPECT_FALSE(hung->ok());
  ::testing::internal::CaptureStderr();
  pool.run_one();
  EXPECT_EQ(late->code(), status_code::unavailable);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find(
                "the callback of /echo.Echo/Say threw std::runtime_error: after the end of the runtime"),
            std::string::npos);
}

// A server and a client whose log a test reads. Their functions fail.
class failing_callbacks : public ::testing::Test {
 protected:
  failing_callbacks() : rt_(options_of(log_)), server_(rt_) {
    server_.add(service_);
    channel_.emplace(rt_, server_.in_process());
  }
  static runtime_options options_of(logger& log) {
    runtime_options options;
    options.log = &log;
    return options;
  }
  [[nodiscard]] echo_stub stub() const { return echo_stub(*channel_); }
  static echo::Text text(const std::string& content) {
    echo::Text t;
    t.set_text(content);
    return t;
  }
  kept_log log_;
  runtime rt_;
  echo_service service_;
  server server_;
  std::optional<channel> channel_;
};

[[noreturn]] void fail() { throw std::runtime_error("no such row"); }

TEST_F(failing_callbacks, AnExceptionIsLoggedWithTheMethodAndOtherCallsContinue) {
  stub().Say(text("x")).then([](const said&) { fail(); }).detach();
  rt_.run();
  EXPECT_THAT(log_.text(),
              ::testing::HasSubstr("the callback of /echo.Echo/Say threw std::runtime_error: no such row\n"));
  std::optional<said> got;
  stub().Say(text("y")).then([&](said reply) { got = std::move(reply); }).detach();
  rt_.run();
  EXPECT_EQ((*got)->text(), "y");
}

TEST_F(failing_callbacks, AnExceptionCancelsAStream) {
  auto chat = stub().Chat();
  std::optional<status> ended;
  chat.write(text("x")).then([](const status&) { fail(); });
  chat.finish().then([&](status outcome) { ended = std::move(outcome); });
  rt_.run();
  EXPECT_EQ(ended->code(), status_code::cancelled);
  EXPECT_THAT(log_.text(), ::testing::HasSubstr("the callback of /echo.Echo/Chat threw std::runtime_error"));
}

TEST_F(failing_callbacks, AnExceptionOnAnExecutorCancelsAStream) {
  kept_functions pool;
  auto chat = stub().Chat();
  std::optional<status> ended;
  chat.write(text("x")).then(std::ref(pool), [](const status&) { fail(); });
  chat.next().then(
      [&](const read&) { chat.next().then([&](const read& message) { ended = message.status(); }); });
  std::thread worker([&] { pool.run_one(); });
  rt_.run();
  worker.join();
  EXPECT_EQ(ended->code(), status_code::cancelled);
  EXPECT_THAT(log_.text(), ::testing::HasSubstr("the callback of /echo.Echo/Chat threw std::runtime_error"));
}

TEST_F(failing_callbacks, AnExecutorThatThrowsIsLoggedAndDropsTheFunction) {
  const auto held = std::make_shared<int>(1);
  stub()
      .Say(text("x"))
      .then([](const queued_callback&) { fail(); }, [held](const said&) { FAIL(); })
      .detach();
  rt_.run();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_THAT(log_.text(), ::testing::HasSubstr("the callback of /echo.Echo/Say threw std::runtime_error"));
}

}  // namespace
}  // namespace coracle::testing_support::then_test
