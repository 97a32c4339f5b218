// The heap allocations of a steady unary call, with every option: only those of protobuf for its strings.
#include "support/borrowed.hpp"
#include "support/echo_fixture.hpp"
#include "support/malloc_counter.hpp"

#include "coracle/client/client_observer.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/server/server_observer.hpp"

#include <algorithm>
#include <chrono>
#include <string>
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

}  // namespace
}  // namespace coracle::testing_support::allocation_test
