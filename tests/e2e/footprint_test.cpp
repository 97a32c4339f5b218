// The memory of decoded requests: the quota counts it, and a request whose decoded form is far larger than
// its bytes is not decoded.
#include "support/allocation_counter.hpp"
#include "support/echo_fixture.hpp"

#include "coracle/client/generic_stub.hpp"

#include <coroutine>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing_support::footprint_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t megabyte = 1u << 20;

// Messages of echo.Text as bytes, with unknown fields. Each field of 3 bytes becomes an object of 16.
std::string numbers(std::size_t bytes) {
  std::string all;
  while (all.size() + 3 <= bytes) all += "\xf8\x1f\x01";
  return all;
}
// Each field of 3 bytes becomes an object of 16, and a string.
std::string empty_strings(std::size_t bytes) {
  std::string all;
  while (all.size() + 3 <= bytes) all.append("\xfa\x1f\0", 3);
  return all;
}

// Its handlers of Say wait until the test releases them all.
class waiting_service final : public echo_service {
 public:
  std::vector<std::coroutine_handle<>> waiting;
  reply<echo::Text> Say(server_context&, const echo::Text&) override {
    struct until_released {
      waiting_service& of;
      explicit until_released(waiting_service& s) noexcept : of(s) {}
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> h) const { of.waiting.push_back(h); }
      void await_resume() const noexcept {}
    };
    until_released released(*this);
    co_await released;
    co_return echo::Text();
  }
  void release() {
    for (const auto h : std::exchange(waiting, {})) h.resume();
  }
};

class footprints : public echo_fixture {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
  }
  void serve(const server_options& options) {
    server_.emplace(rt(), options);
    server_->add(waiting_);
    link();
  }
  void serve(std::size_t quota_bytes) {
    quota_ = memory_quota(quota_bytes);
    server_options options_2;
    options_2.memory = quota_;
    serve(options_2);
  }
  [[nodiscard]] generic_stub any() noexcept { return generic_stub(*channel_); }
  static call_options compressed() {
    call_options compressed_2;
    compressed_2.compression = encoding::gzip;
    return compressed_2;
  }

  static task<> say(footprints& t, const bytes_message& request) {
    const call_options options = compressed();
    const auto reply = co_await t.any().unary("/echo.Echo/Say", request, options);
    t.ended_.push_back(reply.status());
  }
  static task<status> say_at_once(footprints& t, const bytes_message& request) {
    const call_options options = compressed();
    const auto reply = co_await t.any().unary("/echo.Echo/SayAtOnce", request, options);
    co_return reply.status();
  }

  // Until the connection accepts new calls again, which it does when the pressure is checked.
  static task<status> say_when_relieved(footprints& t, const bytes_message& request) {
    status outcome = co_await say_at_once(t, request);
    for (int i = 0; i < 100 && outcome.code() == status_code::unavailable; ++i) {
      co_await sleep_for(20ms);
      outcome = co_await say_at_once(t, request);
    }
    co_return outcome;
  }

  struct taken {
    std::int64_t heap = 0;
    std::int64_t quota = 0;
    std::size_t handlers = 0;
  };
  [[nodiscard]] taken now() const {
    return {test::allocated_bytes, static_cast<std::int64_t>(quota_.used_bytes()), waiting_.waiting.size()};
  }
  // Returns the memory of `calls` with this request while their handlers wait.
  static task<taken> hold(footprints& t, const bytes_message& request, std::size_t calls) {
    scope work{co_await coro::this_environment()};
    const taken before = t.now();
    for (std::size_t i = 0; i < calls; ++i) work.spawn(say(t, request));
    while (t.ended_.size() + t.waiting_.waiting.size() < calls) co_await sleep_for(1ms);
    co_await sleep_for(1ms);  // the turn that brought the last one has ended
    const taken after = t.now();
    t.waiting_.release();
    co_await work.join();
    co_return taken{after.heap - before.heap, after.quota - before.quota, after.handlers};
  }
  taken run_and_hold(const std::string& body, std::size_t calls) {
    const bytes_message request{std::string(body)};
    EXPECT_EQ(run(say_at_once(*this, bytes_message(numbers(100'000)))),
              status());  // what grows once has grown
    ended_.clear();
    return run(hold(*this, request, calls));
  }
  static task<status> echo(footprints& t, std::string body) {
    const bytes_message request(std::move(body));
    const call_options options = compressed();
    const auto reply = co_await t.any().unary<echo::Text>("/echo.Echo/SayAtOnce", request, options);
    co_return reply.status();
  }
  static task<> collect(footprints& t, std::string body) {
    const bytes_message large(std::move(body));
    const bytes_message small(std::string("\x10\x01"));
    const call_options options = compressed();
    auto call = t.any().bidi("/echo.Echo/Collect", options);
    (co_await call.write(large)).throw_if_error();
    while (t.quota_.used_bytes() < 8 * megabyte) co_await sleep_for(1ms);
    (co_await call.write(small)).throw_if_error();
    while (t.quota_.used_bytes() > megabyte) co_await sleep_for(1ms);
    static_cast<void>(co_await call.finish());
  }
  static task<> chat(footprints& t, std::string body) {
    const bytes_message large(std::move(body));
    const bytes_message small(std::string("\x10\x01"));
    const call_options options = compressed();
    auto call = t.any().bidi("/echo.Echo/Chat", options);
    const bytes_message* const all[] = {&large, &small, &small};
    for (const bytes_message* m : all) {
      (co_await call.write(*m)).throw_if_error();
      const auto reply = (co_await call.next()).value();
      EXPECT_TRUE(reply.has_value());
      EXPECT_GT(t.quota_.used_bytes(), 8 * megabyte);
    }
    static_cast<void>(co_await call.finish());
  }
  [[nodiscard]] std::size_t count(status_code code) const {
    std::size_t n = 0;
    for (const status& s : ended_) n += s.code() == code;
    return n;
  }

  waiting_service waiting_;
  memory_quota quota_{1};
  std::vector<status> ended_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, footprints, every_world_over_tcp, echo_fixture::case_name);

// The heap in addition to what the quota counts: docs/reference/limits.md.
constexpr double measured_factor = 1.5;
constexpr double foreseen_factor = 2;

TEST_P(footprints, TheQuotaCountsWhatRequestsTakeInMemory) {
  serve(1024 * megabyte);
  const std::pair<std::string, double> bodies[] = {
      {numbers(megabyte), measured_factor},
      {empty_strings(megabyte / 2), measured_factor},
      {text(std::string(megabyte, 'x')).SerializeAsString(), measured_factor},
      {numbers(20'000), foreseen_factor},
      {empty_strings(20'000), foreseen_factor},
      {numbers(1'000), foreseen_factor}};
  for (const auto& [body, factor] : bodies) {
    const taken t = run_and_hold(body, 20);
    ASSERT_EQ(t.handlers, 20u) << body.size();
    EXPECT_LE(static_cast<double>(t.heap), static_cast<double>(t.quota) * factor) << body.size();
    EXPECT_GE(static_cast<double>(t.heap), static_cast<double>(t.quota) / factor) << body.size();
  }
}

// Each request has 4 KB on the wire and takes 33 MB in memory.
TEST_P(footprints, RequestsThatDoNotFitTheQuotaAreResourceExhausted) {
  serve(60 * megabyte);
  const taken t = run_and_hold(numbers(4 * megabyte), 10);
  EXPECT_EQ(t.handlers, 1u) << "two are more than seven eighths";
  EXPECT_EQ(count(status_code::ok), 1u);
  // A call whose stream opens while the first ones are decoded finds its connection under pressure.
  EXPECT_GE(count(status_code::resource_exhausted), 1u);
  EXPECT_EQ(count(status_code::resource_exhausted) + count(status_code::unavailable), 9u);
  EXPECT_LT(t.heap, std::int64_t{60 * megabyte});
  EXPECT_EQ(run(say_when_relieved(*this, bytes_message(numbers(megabyte)))), status())
      << "the memory is free again";
}

TEST_P(footprints, WaitingHandlersHoldNoMoreThanTheQuota) {
  constexpr std::size_t limit = 128 * megabyte;
  serve(limit);
  const taken t = run_and_hold(numbers(4 * megabyte), 10);
  EXPECT_GE(t.handlers, 2u);
  EXPECT_LT(static_cast<double>(t.heap), static_cast<double>(limit) * measured_factor);
  EXPECT_EQ(count(status_code::ok), t.handlers);
  EXPECT_EQ(count(status_code::resource_exhausted) + count(status_code::unavailable), 10 - t.handlers)
      << "a connection that holds much gets no new calls";
}

TEST_P(footprints, ARequestLargerThanTheWholeQuotaIsNotDecoded) {
  serve(16 * megabyte);
  const status refused = run(say_at_once(*this, bytes_message(numbers(4 * megabyte))));
  EXPECT_EQ(refused.code(), status_code::resource_exhausted);
  EXPECT_NE(refused.message().find("memory quota"), std::string::npos) << refused;
}

TEST_P(footprints, ARequestFarLargerThanItsBytesIsNotDecoded) {
  serve(1024 * megabyte);
  const status refused = run(say_at_once(*this, bytes_message(empty_strings(4 * megabyte))));
  EXPECT_EQ(refused.code(), status_code::resource_exhausted);
  EXPECT_NE(refused.message().find("15 times its size"), std::string::npos) << refused;
  EXPECT_NE(refused.message().find("max_receive_bytes"), std::string::npos) << refused;
  EXPECT_EQ(run(say_at_once(*this, bytes_message(empty_strings(megabyte / 2)))), status()) << "small enough";
  EXPECT_EQ(run(say_at_once(*this, bytes_message(numbers(4 * megabyte)))), status()) << "not so heavy";
}

TEST_P(footprints, AReplyFarLargerThanItsBytesIsNotDecoded) {
  server_options options;
  options.max_receive_bytes = 64 * megabyte;
  serve(options);
  EXPECT_EQ(run(echo(*this, empty_strings(4 * megabyte))).code(), status_code::resource_exhausted);
  EXPECT_EQ(run(echo(*this, numbers(4 * megabyte))), status());
}

TEST_P(footprints, AMessageOfAStreamCountsUntilTheNextIsRead) {
  serve(1024 * megabyte);
  run(collect(*this, numbers(megabyte)));
}

// Protobuf keeps the memory of a message that is reused.
TEST_P(footprints, AMessageThatIsReadIntoAgainCountsAsTheLargest) {
  serve(1024 * megabyte);
  run(chat(*this, numbers(megabyte)));
}

}  // namespace
}  // namespace coracle::testing_support::footprint_test
