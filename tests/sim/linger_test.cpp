// How long a client that does not disconnect may delay the end of a server: in virtual time.
#include "support/echo_service.hpp"
#include "support/raw_frames.hpp"

#include "coracle/net/stream.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::testing_support::linger_test {
namespace {

using namespace std::chrono_literals;

enum class manner { reads_nothing, calls_and_stays, answers_and_stays, answers_and_goes };

struct program {
  static task<> write(net::stream& to, const std::string& content) {
    static_cast<void>(
        co_await to.write({reinterpret_cast<const std::uint8_t*>(content.data()), content.size()}));
  }
  static task<> stay(std::string at, manner chosen, bool& connected) {
    auto stream = co_await net::stream::connect(net::address::parse(at).value());
    std::string hello = raw_frames::greeting();
    if (chosen == manner::calls_and_stays) {  // a call that ends within the drain
      hello += raw_frames::head("/echo.Echo/Say", 1);
      hello += raw_frames::frame(raw_frames::data, raw_frames::end_stream, 1, std::string(5, '\0'));
    }
    co_await write(*stream, hello);
    std::string got;
    connected = true;
    while (chosen != manner::reads_nothing) {
      std::uint8_t bytes[4096];
      const auto n = co_await stream->read(bytes);
      if (!n || *n == 0) break;
      got.append(reinterpret_cast<const char*>(bytes), *n);
      for (std::size_t size = 0; got.size() >= 9; got.erase(0, 9 + size)) {
        size = static_cast<std::uint8_t>(got[1]) * 256u + static_cast<std::uint8_t>(got[2]);
        if (got.size() < 9 + size) break;
        if (got[3] != raw_frames::ping || got[4] == raw_frames::ack) continue;
        const std::string answer =
            raw_frames::frame(raw_frames::ping, raw_frames::ack, 0, got.substr(9, size));
        co_await write(*stream, answer);
      }
    }
    if (chosen != manner::answers_and_goes) co_await sleep_for(1h);
  }
  static task<> until(bool& there) {
    while (!there) co_await sleep_for(1ms);
    co_await sleep_for(100ms);  // its SETTINGS have been answered by then
  }
};

class slow_service final : public echo_service {
  reply<echo::Text> Say(server_context&, const echo::Text& request) override {
    co_await sleep_for(500ms);
    co_return request;
  }
};

duration end_of_a_drain(manner chosen) {
  sim::world world(3);
  runtime& serving = world.host("server");
  runtime& staying = world.host("client");
  slow_service service;
  server srv(serving);
  srv.add(service);
  EXPECT_EQ(srv.listen("0.0.0.0:50051", insecure()), status());
  bool connected = false;
  staying.spawn(program::stay(world.address_of("server") + ":50051", chosen, connected));
  sync_wait(serving, program::until(connected));
  const time_point began = world.now();
  sync_wait(serving, srv.drain(30s));
  return world.now() - began;
}

TEST(DrainOfAnIdleConnection, EndsAtOnceWithAClientThatGoes) {
  EXPECT_LT(end_of_a_drain(manner::answers_and_goes), 100ms);
}

TEST(DrainOfAnIdleConnection, EndsAtOnceWithAClientThatHasReadAllAndStays) {
  EXPECT_LT(end_of_a_drain(manner::answers_and_stays), 100ms);
}

TEST(DrainOfAConnection, WaitsTwoSecondsForAClientThatMayHaveUnreadRepliesAndStays) {
  const duration took = end_of_a_drain(manner::calls_and_stays);
  EXPECT_GE(took, 2s);
  EXPECT_LT(took, 2600ms);
}

TEST(DrainOfAnIdleConnection, WaitsSevenSecondsForAClientThatDoesNotAnswer) {
  const duration took = end_of_a_drain(manner::reads_nothing);
  EXPECT_GE(took, 6500ms) << "five for the answer to the PING behind the first GOAWAY";
  EXPECT_LT(took, 7100ms);
}

}  // namespace
}  // namespace coracle::testing_support::linger_test
