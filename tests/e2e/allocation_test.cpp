// The heap allocations of a steady unary call, with every option: only those of protobuf for its strings.
#include "support/borrowed.hpp"
#include "support/echo_fixture.hpp"
#include "support/malloc_counter.hpp"
#include "support/raw_frames.hpp"
#include "support/raw_http.hpp"

#include "coracle/client/client_observer.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/yield.hpp"
#include "coracle/server/server_observer.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::testing_support::allocation_test {
namespace {

using namespace std::chrono_literals;

constexpr int calls_made = 20;
const std::string long_text(5000, 'x');  // above compression::min_bytes()

class steady_call : public echo_fixture {
 protected:
  void SetUp() override {
    if (coro::frame_pool::from_heap())
      GTEST_SKIP() << "sanitizer builds take frames from the heap, and have an allocator of their own";
    echo_fixture::SetUp();
  }
  // Client and server are on one loop, whose thread counts the allocations of both.
  static task<std::size_t> takes(echo_stub s, std::string content, call_options options, bool compressed) {
    const echo::Text request = text(std::move(content));
    std::size_t before = 0;
    for (int i = 0; i < 2 * calls_made; ++i) {
      if (i == calls_made) before = test::malloc_count;
      auto call = s.Say(request, options);
      const auto reply = co_await call;
      EXPECT_EQ(reply.status(), status());
      EXPECT_EQ(call.read_compressed(), compressed);
    }
    co_return test::malloc_count - before;
  }
  // Average over calls_made calls, after the same number to become steady.
  std::size_t taken(const std::string& text = {}, const call_options& options = {}, bool compressed = false) {
    return run(takes(stub(), text, options, compressed));
  }
  void connect(const channel_options& options) { channel_.emplace(rt(), address_, insecure(), options); }
};
INSTANTIATE_TEST_SUITE_P(OverTcp, steady_call,
                         ::testing::Combine(kernel_kinds, ::testing::Values(link_kind::tcp)),
                         echo_fixture::case_name);

TEST_P(steady_call, TakesNothing) {
  EXPECT_EQ(taken(), 0u);
  EXPECT_GT(taken(long_text), 0u) << "protobuf's strings are counted";
}

// Each call displaces the one before it, because a stream occupies the connection and one call may wait.
TEST_P(steady_call, TakesNothingToBeDisplaced) {
  channel_options options;
  options.streams_per_connection = 1;
  options.max_waiting_calls = 1;
  connect(options);
  const auto displaced = [](echo_stub s) -> task<std::size_t> {
    auto chat = s.Chat();
    echo::Text request;
    EXPECT_EQ(co_await chat.write(request), status());
    EXPECT_TRUE(more(co_await chat.read(request)));
    std::size_t before = 0;
    int refused = 0;
    const auto say = [](echo_stub by, const echo::Text& text, int& ended) -> task<> {
      const auto reply = co_await by.Say(text);
      ended += reply.status().code() == status_code::resource_exhausted;
    };
    scope all{co_await coro::this_environment()};
    for (int i = 0; i < 2 * calls_made; ++i) {
      if (i == calls_made) before = test::malloc_count;
      all.spawn(say(s, request, refused));
      co_await yield();
    }
    const std::size_t took = test::malloc_count - before;
    co_await chat.writes_done();
    EXPECT_EQ(co_await chat.finish(), status());
    co_await all.join();
    EXPECT_EQ(refused, 2 * calls_made - 1);
    co_return took;
  };
  EXPECT_EQ(run(displaced(stub())), 0u);
}

TEST_P(steady_call, TakesNothingForItsDeadline) { EXPECT_EQ(taken({}, within(5s)), 0u); }

// Except brotli, snappy and lz4, whose libraries allocate for each message. Fewer than uncompressed where a
// long message arrives in parts, because protobuf's strings grow with them.
TEST_P(steady_call, TakesNoMoreWhenItIsCompressed) {
  const std::size_t plain = taken(long_text);
  for (const encoding e : {encoding::gzip, encoding::deflate, encoding::zstd}) {
    server_options options;
    options.compression = e;
    make_server(options);
    channel_options options_2;
    options_2.calls.compression = e;
    connect(options_2);
    // If other programs occupy the processor, the clock of the loop may end an iteration within a message; a
    // waiting message then allocates once.
    std::size_t least = taken(long_text, {}, true);
    for (int more = 0; more < 4 && least > plain; ++more) least = std::min(least, taken(long_text, {}, true));
    EXPECT_LE(least, plain) << name_of(e);
  }
}

TEST_P(steady_call, TakesNothingForOverloadProtection) {
  make_server(server_options().protect());
  EXPECT_EQ(taken({}, within(5s)), 0u);
}

TEST_P(steady_call, TakesNothingForAServiceConfigWithoutRetries) {
  const auto config = service_config::parse(
      R"({"methodConfig":[{"name":[{}],"timeout":"5s","waitForReady":true,"maxResponseMessageBytes":1000}]})");
  ASSERT_EQ(config.status(), status());
  channel_options options;
  options.service_config = *config;
  connect(options);
  EXPECT_EQ(taken(), 0u);
}

TEST_P(steady_call, TakesNothingBehindAnEmptyRowOfInterceptors) {
  const channel front = channel_->with_interceptors({});
  EXPECT_EQ(run(takes(echo_stub(front), {}, {}, false)), 0u);
}

TEST_P(steady_call, TakesNothingForItsObservers) {
  struct client_side final : client_observer {
    int ended = 0;
    void call_ended(observed_call&, const status&, time_point) noexcept override { ++ended; }
  } here;
  struct server_side final : server_observer {
    int ended = 0;
    void call_ended(served_call&, const status&, time_point) noexcept override { ++ended; }
  } there;
  server_options options;
  options.observer = borrowed(there);
  make_server(options);
  channel_options options_2;
  options_2.observer = borrowed(here);
  connect(options_2);
  EXPECT_EQ(taken(), 0u);
  EXPECT_EQ(here.ended, 2 * calls_made);
  EXPECT_EQ(there.ended, 2 * calls_made);
  channel_.reset();
  server_.reset();  // before their observers
}

// Calls that a server rejects, of a client that allocates nothing for each. Both have one thread.
class rejected_call : public steady_call {
 protected:
  // Small calls of a method.
  class batch {
   public:
    batch(int& next_stream, int calls, const std::string& path)
        : ping_("ping" + std::to_string(next_stream)) {
      namespace raw = raw_frames;
      for (int i = 0; i < calls; ++i, next_stream += 2)
        calls_ += raw::head(path, next_stream) +
                  raw::frame(raw::data, raw::end_stream, next_stream, std::string(5, '\0'));
      ping_.resize(8, '.');
    }
    [[nodiscard]] const std::string& calls() const noexcept { return calls_; }
    // Sends them and a PING, and returns what was allocated until the answer to the PING. Adds the answers
    // to `all`.
    task<std::size_t> send(net::stream& peer, std::string& all) {
      all.reserve(1u << 20);
      const std::string frames = calls_ + raw_frames::frame(raw_frames::ping, 0, 0, ping_);
      const std::size_t before = test::malloc_count;
      EXPECT_EQ(co_await peer.write(as_bytes(frames)), status());
      EXPECT_TRUE(co_await raw_http::receive_until(peer, all, ping_));
      co_return test::malloc_count - before;
    }

   private:
    std::string calls_;
    std::string ping_;
  };
  // How many HEADERS with END_STREAM there are in these frames.
  static int ends_in(std::string_view frames) {
    constexpr char ends = raw_frames::end_stream | raw_frames::end_headers;
    int n = 0;
    while (frames.size() >= 9) {
      std::size_t size = 0;
      for (int i = 0; i < 3; ++i)
        size = size << 8 | static_cast<std::uint8_t>(frames[static_cast<std::size_t>(i)]);
      n += frames[3] == raw_frames::headers && frames[4] == ends;
      frames.remove_prefix(std::min(size + 9, frames.size()));
    }
    return n;
  }
  // 300 calls allocate as much as 100, but for the buffers of the connection.
  static task<> expect_nothing_for_each(net::stream& peer, int& next_stream) {
    std::size_t taken[2] = {};
    std::string all;
    for (const int round : {0, 1, 0, 1}) {
      all.clear();
      const int calls = round == 0 ? 100 : 300;
      batch b(next_stream, calls, "/echo.Echo/Say");
      taken[round] = co_await b.send(peer, all);
      EXPECT_GE(ends_in(all), calls - 10) << "some may wait";
    }
    EXPECT_LT(taken[1], taken[0] + 10);
  }
};
INSTANTIATE_TEST_SUITE_P(Simulated, rejected_call, simulation_over_tcp, echo_fixture::case_name);

TEST_P(rejected_call, TakesNothingAboveItsRate) {
  server_options options;
  options.rate_limits = {rate_limit(0.001, 1)};
  make_server(options);
  struct program {
    static task<> run(std::string address) {
      net::stream peer = co_await raw_http::connect(address);
      co_await raw_http::send(peer, raw_frames::greeting());
      int next_stream = 1;
      std::string all;
      batch first(next_stream, 1, "/echo.Echo/Say");
      static_cast<void>(co_await first.send(peer, all));
      co_await expect_nothing_for_each(peer, next_stream);
    }
  };
  run(program::run(address_));
}

TEST_P(rejected_call, TakesNothingUnderOverload) {
  server_options options;
  options.admission = admission_options{.min_concurrency = 1, .max_concurrency = 1};
  make_server(options);
  struct program {
    static task<> hang(echo_stub s) {
      const echo::Text request = text("hang");
      static_cast<void>(co_await s.Misbehave(request));
    }
    static task<> run(echo_stub s, std::string address) {
      scope work{co_await coro::this_environment()};
      work.spawn(hang(s));
      net::stream peer = co_await raw_http::connect(address);
      co_await raw_http::send(peer, raw_frames::greeting());
      int next_stream = 1;
      std::string all;
      // Calls wait for 100 ms without a pause, so that the line is short.
      for (int i = 0; i < 30; ++i) {
        const batch one(next_stream, 1, "/echo.Echo/Say");
        co_await raw_http::send(peer, one.calls());
        co_await sleep_for(5ms);
      }
      const batch fill(next_stream, 20, "/echo.Echo/Say");
      co_await raw_http::send(peer, fill.calls());
      co_await expect_nothing_for_each(peer, next_stream);
      work.request_stop();
      co_await work.join();
    }
  };
  run(program::run(stub(), address_));
}

}  // namespace
}  // namespace coracle::testing_support::allocation_test
