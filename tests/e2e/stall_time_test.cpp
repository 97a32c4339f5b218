// A request message that begins and does not continue.
#include "support/borrowed.hpp"
#include "support/echo_fixture.hpp"
#include "support/raw_frames.hpp"

#include "coracle/net/stream.hpp"
#include "coracle/server/server_observer.hpp"

#include <string>

namespace coracle::testing_support::stall_time_test {
namespace {

using namespace std::chrono_literals;

// How the first call ended, and when.
class first_end final : public server_observer {
 public:
  std::optional<status> outcome;
  time_point began{};
  time_point at{};
  void call_started(served_call& c) noexcept override { began = c.began; }
  void call_ended(served_call&, const status& s, time_point now) noexcept override {
    if (outcome) return;
    outcome = s;
    at = now;
  }
};

class slow_message : public echo_fixture {
 protected:
  static constexpr duration stall_time = 200ms;  // 51 bytes are not too slow
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    server_options options;
    options.observer = borrowed(end_);
    options.limits = server_limits{.stall_time = stall_time};
    make_server(options);
  }
  static task<> write(net::stream& to, const std::string& content) {
    static_cast<void>(
        co_await to.write({reinterpret_cast<const std::uint8_t*>(content.data()), content.size()}));
  }
  // A message in the given number of pieces of the given size, until the call has ended or everything was
  // sent.
  static task<> dribble(std::string address, std::string path, int pieces, std::size_t piece_bytes,
                        duration pause, const first_end& end) {
    auto stream = co_await net::stream::connect(net::address::parse(address).value());
    std::string content = raw_frames::greeting() + raw_frames::head(path, 1);
    const std::size_t whole = static_cast<std::size_t>(pieces) * piece_bytes + 3;
    // A Text with an unknown field, which is skipped: its key, its length in two octets.
    content += raw_frames::part_of_message(1, whole, 0);
    content += raw_frames::frame(
        raw_frames::data, 0, 1,
        {'\x7a', static_cast<char>((whole - 3) % 128 + 128), static_cast<char>((whole - 3) / 128)});
    co_await write(*stream, content);
    for (int i = 1; i <= pieces && !end.outcome; ++i) {
      co_await sleep_for(pause);  // sleeps on purpose: slowness is what is tested
      const std::string piece = raw_frames::frame(
          raw_frames::data, i == pieces ? raw_frames::end_stream : '\0', 1, std::string(piece_bytes, 'x'));
      co_await write(*stream, piece);
    }
    while (!end.outcome)
      co_await sleep_for(1ms);  // sleeps on purpose: until the call ends, however long it takes
  }
  first_end end_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, slow_message, every_world_over_tcp, echo_fixture::case_name);

TEST_P(slow_message, OfAUnaryCallEndsIt) {
  run(dribble(address_, "/echo.Echo/Say", 1000, 1, 50ms, end_));
  EXPECT_EQ(*end_.outcome,
            status::resource_exhausted("a message arrived too slowly (see server_limits::stall_time)"));
  EXPECT_GE(end_.at - end_.began, stall_time);
  if (sim_world()) {
    EXPECT_LE(end_.at - end_.began, 2 * stall_time);
  }
}

TEST_P(slow_message, OfAStreamThatIsReadEndsIt) {
  run(dribble(address_, "/echo.Echo/Collect", 1000, 1, 50ms, end_));
  EXPECT_EQ(*end_.outcome,
            status::resource_exhausted("a message arrived too slowly (see server_limits::stall_time)"));
}

// Where a pause of the machine has no effect.
class timed_message : public slow_message {};
INSTANTIATE_TEST_SUITE_P(Everywhere, timed_message,
                         ::testing::Combine(::testing::Values(world_kind::sim),
                                            ::testing::Values(link_kind::tcp)),
                         echo_fixture::case_name);

TEST_P(timed_message, ThatGoesOnFastEnoughIsServed) {
  run(dribble(address_, "/echo.Echo/Say", 20, 100, 50ms, end_));  // a second, 2,000 bytes
  EXPECT_EQ(*end_.outcome, status());
}

TEST_P(timed_message, IsNoneBetweenTwoMessages) {
  struct program {
    static task<> chat(echo_stub s) {
      auto chat = s.Chat();
      const echo::Text large = text(std::string(100'000, 'x'));  // in several frames
      for (int i = 0; i < 3; ++i) {
        (co_await chat.write(large)).throw_if_error();
        const auto reply = (co_await chat.next()).value();
        EXPECT_TRUE(reply.has_value());
        co_await sleep_for(3 * stall_time);  // sleeps on purpose: an idle stream is legitimate
      }
      EXPECT_EQ(co_await chat.finish(), status());
    }
  };
  run(program::chat(stub()));
}

}  // namespace
}  // namespace coracle::testing_support::stall_time_test
