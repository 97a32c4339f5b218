// Limits of a server: calls, connections, time.
#include "support/echo_fixture.hpp"
#include "support/kept_log.hpp"
#include "support/limited_process.hpp"
#include "support/raw_frames.hpp"
#include "support/raw_http.hpp"

#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/runtime/sim.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <string>

namespace coracle::testing_support::limits_test {
namespace {

using namespace std::chrono_literals;

class limits_of_a_server : public echo_fixture {
 protected:
  void limit(const server_limits& l) {
    server_options options;
    options.limits = l;
    make_server(options);
  }
  static task<> hang(echo_stub s, status& out) {
    const echo::Text request = text("hang");
    const auto reply = co_await s.Misbehave(request);
    out = reply.status();
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, limits_of_a_server, every_world_and_link, echo_fixture::case_name);

TEST_P(limits_of_a_server, OneCallTooManyIsUnavailableAndTheNextIsServedAgain) {
  limit({.calls = 2});
  struct program {
    static task<> fill(echo_stub s) {
      status first;
      status second;
      scope work{co_await coro::this_environment()};
      work.spawn(hang(s, first));
      work.spawn(hang(s, second));
      co_await sleep_for(20ms);
      const echo::Text request = text("third");
      const auto third = co_await s.Say(request);
      EXPECT_EQ(third.status().code(), status_code::unavailable) << third.status();
      work.request_stop();
      co_await work.join();
      co_await sleep_for(20ms);
      const auto fourth = co_await s.Say(request);
      EXPECT_EQ(fourth.status(), status());
    }
  };
  run(program::fill(stub()));
}

TEST_P(limits_of_a_server, ACallTakesNoLongerThanItMay) {
  limit({.call_time = 30ms});
  EXPECT_EQ(sync_wait(stub().Misbehave(text("hang"))).status().code(), status_code::deadline_exceeded);
  EXPECT_EQ(sync_wait(stub().Misbehave(text("hang"), within(1h))).status().code(),
            status_code::deadline_exceeded);
}

TEST_P(limits_of_a_server, MetadataBeyondTheLimitIsResourceExhausted) {
  limit({.header_list_bytes = 1000});
  call_options much;
  much.add_metadata("x-much", std::string(2000, 'x'));
  EXPECT_EQ(sync_wait(stub().Say(text("x"), much)).status().code(), status_code::resource_exhausted);
  EXPECT_EQ(sync_wait(stub().Say(text("x"))).status(), status());
}

TEST_P(limits_of_a_server, ItsQuotaCountsWhatItsConnectionsHold) {
  const memory_quota quota(std::size_t{8} << 20);
  server_options options;
  options.memory = quota;
  make_server(options);
  EXPECT_EQ(quota.limit_bytes(), std::size_t{8} << 20);
  EXPECT_EQ(sync_wait(stub().Say(text(std::string(1'000'000, 'x')))).status(), status());
  EXPECT_GT(quota.used_bytes(), 0u);
  channel_.reset();
  server_.reset();
  EXPECT_EQ(quota.used_bytes(), 0u);
}

[[noreturn]] void serve_with_little_address_space() {
  limit(RLIMIT_AS, 1'500'000'000);
  kept_log log;
  runtime rt(runtime_options{.log = &log});
  const server s(rt, {});
  const bool said = log.text().find(
                        "the server's memory quota is 750000000 bytes: half of RLIMIT_AS, which is "
                        "1500000000 (set another with server_options::memory)\n") != std::string::npos;
  ::_exit(said ? 0 : 1);
}

TEST(default_quota_of_a_server, IsHalfOfWhatTheSystemLetsTheProcessUse) {
  if (coro::frame_pool::from_heap()) GTEST_SKIP() << "the sanitizer itself cannot do without";
  EXPECT_EXIT(serve_with_little_address_space(), ::testing::ExitedWithCode(0), "");
}

TEST(default_quota_of_a_server, IsTheSameOnEveryMachineThatSimulates) {
  kept_log log;
  sim::world world(1, sim::world_options{.log = &log});
  const server s(world.host("server"), {});
  EXPECT_NE(log.text().find("the server's memory quota is 1073741824 bytes: the default, 1 GiB"),
            std::string::npos)
      << log.text();
}

class connections_of_a_server : public echo_fixture {};
INSTANTIATE_TEST_SUITE_P(Everywhere, connections_of_a_server, every_world_over_tcp, echo_fixture::case_name);

TEST_P(connections_of_a_server, RequestHeadersFarAboveTheLimitFailThatRequestAlone) {
  const auto body = [](std::string address) -> task<std::string> {
    std::string fields;
    while (fields.size() < 200'000) fields += raw_frames::literal("x-much", std::string(100, 'x'));
    const std::string block = raw_frames::literal(":method", "POST") +
                              raw_frames::literal(":scheme", "http") +
                              raw_frames::literal(":path", "/echo.Echo/Say") +
                              raw_frames::literal("content-type", "application/grpc") + fields;
    std::string frames = raw_frames::greeting();
    for (std::size_t at = 0; at < block.size(); at += 16'000) {
      const char flags = at + 16'000 < block.size() ? '\0' : raw_frames::end_headers;
      frames += raw_frames::frame(at == 0 ? raw_frames::headers : raw_frames::continuation, flags, 1,
                                  block.substr(at, 16'000));
    }
    frames += raw_frames::head("/echo.Echo/Say", 3) +
              raw_frames::frame(raw_frames::data, raw_frames::end_stream, 3, std::string(5, '\0'));
    net::stream s = co_await raw_http::connect(std::move(address));
    co_await raw_http::send(s, std::move(frames));
    std::string all;
    std::string seen;
    while (true) {
      std::uint8_t bytes[4096];
      const auto got = co_await s.read(bytes);
      if (!got || *got == 0) co_return seen + "the end";
      all.append(reinterpret_cast<const char*>(bytes), *got);
      while (all.size() >= 9) {
        const auto octet = [&](std::size_t i) {
          return static_cast<std::size_t>(static_cast<unsigned char>(all[i]));
        };
        const std::size_t size = octet(0) << 16 | octet(1) << 8 | octet(2);
        if (all.size() < 9 + size) break;
        if (octet(8) == 1 && all[3] == raw_frames::rst_stream)
          seen += "RST_STREAM " + std::to_string(octet(12)) + ", ";
        if (octet(8) == 3 && (octet(4) & raw_frames::end_stream) != 0) co_return seen + "reply";
        all.erase(0, 9 + size);
      }
    }
  };
  EXPECT_EQ(run(body(address_)), "RST_STREAM 11, reply");
}

TEST_P(connections_of_a_server, OneTooManyIsClosedAsItComes) {
  server_options options;
  options.limits = {.connections = 1};
  make_server(options);
  EXPECT_EQ(sync_wait(stub().Say(text("first"))).status(), status());
  channel second(rt(), address_, insecure());
  EXPECT_EQ(sync_wait(echo_stub(second).Say(text("second"))).status().code(), status_code::unavailable);
  EXPECT_EQ(sync_wait(stub().Say(text("first"))).status(), status());
}

}  // namespace
}  // namespace coracle::testing_support::limits_test
