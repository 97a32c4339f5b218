// The connection options of server_options take effect: keepalive, PINGs, idleness and age, in virtual time.
#include "sim/written_client.hpp"
#include "support/echo_service.hpp"

#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

namespace coracle::testing_support::connection_rules_test {
namespace {

using namespace std::chrono_literals;

class connection_options_of : public ::testing::Test {
 protected:
  void serve(const server_options& o) {
    server_.emplace(world_.host("server"), o);
    server_->add(service_);
    ASSERT_EQ(server_->listen("0.0.0.0:50051", insecure()), status());
    at_ = world_.address_of("server") + ":50051";
  }
  peer_record talk(std::string then = {}, duration pause = {}, int times = 0, int acks = 0) {
    return sync_wait(client_host_,
                     written_client::talk(at_, raw_frames::greeting(), std::move(then), pause, times, acks));
  }
  peer_record ping(duration pause, int times, int acks = 0) {
    return talk(raw_frames::frame(raw_frames::ping, 0, 0, "12345678"), pause, times, acks);
  }

  sim::world world_{5};
  runtime& client_host_ = world_.host("client");
  echo_service service_;
  std::optional<server> server_;
  std::string at_;
};

TEST_F(connection_options_of, AClientThatIsSilentIsAskedAndThenGivenUp) {
  server_options options;
  options.keepalive = {.time = 60s, .timeout = 10s};
  serve(options);
  const peer_record h = talk();
  EXPECT_TRUE(h.ended);
  EXPECT_EQ(h.count(raw_frames::ping), 1);
  EXPECT_GE(h.took, 70s);
  EXPECT_LT(h.took, 75s);
}

TEST_F(connection_options_of, UnlessToldOtherwiseASilentClientIsAskedAfterTwoHours) {
  serve({});
  const peer_record h = talk();
  EXPECT_TRUE(h.ended);
  EXPECT_GE(h.took, 2h + 20s);
  EXPECT_LT(h.took, 2h + 30s);
}

TEST_F(connection_options_of, AConnectionWithoutCallsIsAskedToGo) {
  server_options options;
  options.max_connection_idle = 30s;
  serve(options);
  const peer_record h = talk();
  EXPECT_TRUE(h.ended);
  EXPECT_GE(h.count(raw_frames::goaway), 1);
  EXPECT_GE(h.took, 30s);
  EXPECT_LT(h.took, 40s) << "five seconds for the PING of the drain, and the end";
}

TEST_F(connection_options_of, AnOldConnectionIsAskedToGo) {
  server_options options;
  options.max_connection_age = {.max = 100s};
  serve(options);
  const peer_record h = talk();
  EXPECT_TRUE(h.ended);
  EXPECT_GE(h.count(raw_frames::goaway), 1);
  EXPECT_GE(h.took, 90s);
  EXPECT_LT(h.took, 120s);
}

TEST_F(connection_options_of, TheCallsOfAnOldConnectionGetTheGrace) {
  server_options options;
  options.max_connection_age = {.max = 100s, .grace = 50s};
  serve(options);
  channel c(client_host_, at_, insecure());
  echo::Text hang;
  hang.set_text("hang");
  const time_point began = world_.now();
  EXPECT_FALSE(sync_wait(echo_stub(c).Misbehave(hang)).ok());
  EXPECT_GE(world_.now() - began, 140s);
  EXPECT_LT(world_.now() - began, 170s);
}

TEST_F(connection_options_of, AClientThatPingsTooOftenIsSentAway) {
  server_options options;
  options.client_pings = {.min_interval = 10s, .without_calls = true};
  serve(options);
  const peer_record h = ping(1s, 20);
  EXPECT_TRUE(h.ended);
  EXPECT_TRUE(h.has("too_many_pings"));
}

TEST_F(connection_options_of, PingsWithoutCallsAreAFavour) {
  server_options options;
  options.client_pings = {.min_interval = 500ms};
  serve(options);
  const peer_record h = ping(1s, 20);
  EXPECT_TRUE(h.ended);
  EXPECT_TRUE(h.has("too_many_pings"));
}

TEST_F(connection_options_of, AsManyPingsAsAreAllowedAreAnswered) {
  server_options options;
  options.client_pings = {.min_interval = 500ms, .without_calls = true};
  serve(options);
  const peer_record h = ping(1s, 20, 20);
  EXPECT_FALSE(h.ended);
  EXPECT_EQ(h.count(raw_frames::ping, raw_frames::ack), 20);
  EXPECT_EQ(h.count(raw_frames::goaway), 0);
}

// Every client that can connect may read the page, even if the interceptors reject calls: it names no method.
TEST_F(connection_options_of, ThePageAtTheRootNamesNoMethod) {
  server_options options;
  options.max_connection_idle = 1s;
  serve(options);
  const std::string get = raw_frames::literal(":method", "GET") + raw_frames::literal(":scheme", "http") +
                          raw_frames::literal(":path", "/") + raw_frames::literal(":authority", "h");
  const peer_record h =
      talk(raw_frames::frame(raw_frames::headers, raw_frames::end_headers | raw_frames::end_stream, 1, get),
           1ms, 1);
  EXPECT_TRUE(h.has("A gRPC server.")) << h.bytes;
  EXPECT_FALSE(h.has("echo.Echo")) << h.bytes;
}

}  // namespace
}  // namespace coracle::testing_support::connection_rules_test
