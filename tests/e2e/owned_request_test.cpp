// Requests that are moved into their calls: their lifetime, and that nothing is lost.
#include "support/borrowed.hpp"
#include "support/echo_fixture.hpp"

#include "coracle/client/client_interceptor.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/event.hpp"

#include <memory>
#include <vector>

namespace coracle::testing_support {

using namespace std::chrono_literals;

// A message of the given size, as a field of echo.Text, that counts the live objects of its kind.
struct counted_text {
  counted_text(std::size_t n, int& count) : bytes(n), living(&count) { ++count; }
  counted_text(counted_text&& from) noexcept
      : bytes(from.bytes), living(std::exchange(from.living, nullptr)) {}
  counted_text& operator=(counted_text&&) = delete;
  ~counted_text() {
    if (living) --*living;
  }
  std::size_t bytes;
  int* living;
};

}  // namespace coracle::testing_support

namespace coracle::rpc {

template <>
struct codec_of<testing_support::counted_text> {
  static const codec& get() noexcept {
    static constexpr codec it{
        message_kind::own,
        [](const void* m) { return text_of(m).ByteSizeLong(); },
        [](const void* m, std::uint8_t* to) {
          (void)text_of(m).SerializePartialToArray(to, static_cast<int>(text_of(m).ByteSizeLong()));
        },
        [](void*, bytes_view) { return false; },
    };
    return it;
  }
  static const void* address(const testing_support::counted_text& m) noexcept { return &m; }

 private:
  static echo::Text text_of(const void* m) {
    echo::Text t;
    t.set_text(std::string(static_cast<const testing_support::counted_text*>(m)->bytes, 'x'));
    return t;
  }
};

}  // namespace coracle::rpc

namespace coracle::testing_support::owned_request_test {
namespace {

constexpr std::size_t large = 65u << 10;

// Notifies the arrival of a request, and replies once the test has looked.
class patient_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context&, const echo::Text& request) override {
    ++received;
    if (failures-- > 0) co_return status::unavailable("once more");
    while (!looked) co_await sleep_for(1ms);
    echo::Text reply;
    reply.set_count(static_cast<int>(request.text().size()));
    co_return reply;
  }
  std::atomic<int> received{0};
  std::atomic<bool> looked{false};
  std::atomic<int> failures{0};
};

class owned_request : public echo_fixture {
 protected:
  [[nodiscard]] service& served() noexcept override { return patient_; }
  // The number of live requests while the server had it, and its reply.
  struct course {
    int living = -1;
    result<echo::Text> reply = status::unknown("none");
  };
  course call(std::size_t bytes) { return run(call_with(*channel_, bytes)); }
  course call(const channel& by, std::size_t bytes) { return run(call_with(by, bytes)); }

  patient_service patient_;
  int living_ = 0;
  bool ended_ = false;

 private:
  task<course> call_with(const channel& by, std::size_t bytes) {
    course c;
    scope both{co_await coro::this_environment()};
    both.spawn(look(c));
    const generic_stub any(by);
    c.reply = co_await any.unary<echo::Text>("/echo.Echo/Say", counted_text(bytes, living_));
    ended_ = true;
    co_await both.join();
    EXPECT_EQ(living_, 0);
    co_return c;
  }
  task<> look(course& c) {
    while (patient_.received == 0 && !ended_) co_await sleep_for(1ms);
    c.living = living_;
    patient_.looked = true;
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, owned_request, every_world_over_tcp, echo_fixture::case_name);

TEST_P(owned_request, OfALargeSizeLivesUntilItIsSent) {
  const course c = call(large);
  ASSERT_EQ(c.reply.status(), status());
  EXPECT_EQ(c.reply->count(), static_cast<int>(large));
  EXPECT_EQ(c.living, 0);
}

TEST_P(owned_request, OfASmallSizeIsKeptForAnotherAttempt) {
  const course c = call(1000);
  ASSERT_EQ(c.reply.status(), status());
  EXPECT_EQ(c.living, 1);
}

TEST_P(owned_request, IsSentAgainByARetryPolicyThoughItIsGone) {
  const auto config = service_config::parse(
      R"({"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":3,"initialBackoff":"0.001s",
          "maxBackoff":"0.001s","backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]}}]})");
  ASSERT_EQ(config.status(), status());
  channel_options options;
  options.service_config = *config;
  channel_.emplace(rt(), address_, insecure(), options);
  patient_.failures = 2;
  const course c = call(large);
  ASSERT_EQ(c.reply.status(), status());
  EXPECT_EQ(c.reply->count(), static_cast<int>(large));
  EXPECT_EQ(patient_.received, 3);
}

TEST_P(owned_request, StaysForInterceptorsThatCallTwice) {
  class twice final : public client_interceptor {
    task<status> intercept(client_context&, next_call next) override {
      (void)co_await next();
      co_return co_await next();
    }
  };
  twice front;
  const channel by = channel_->with_interceptors({borrowed(front)});
  const course c = call(by, large);
  ASSERT_EQ(c.reply.status(), status());
  EXPECT_EQ(c.reply->count(), static_cast<int>(large));
  EXPECT_EQ(c.living, 1);
  EXPECT_EQ(patient_.received, 2);
}

TEST_P(owned_request, MayBeGoneBeforeTheCallIsAwaited) {
  struct program {
    static task<int> size(echo_stub s) {
      auto call = s.SayAtOnce(text("a temporary"));
      echo::Text moved = text("one that is moved from");
      auto other = s.SayAtOnce(std::move(moved));
      const auto first = co_await call;
      const auto second = co_await other;
      EXPECT_EQ(first.value().text(), "a temporary");
      EXPECT_EQ(second.value().text(), "one that is moved from");
      co_return 0;
    }
  };
  run(program::size(stub()));
}

}  // namespace
}  // namespace coracle::testing_support::owned_request_test
