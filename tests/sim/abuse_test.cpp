// A client that does not read its replies, together with one that does: counted in virtual time.
#include "support/echo_service.hpp"
#include "support/raw_frames.hpp"

#include "coracle/net/stream.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::testing_support::abuse_test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr int megabyte = 1 << 20;

// As large as the request's count says, immediately or after a while.
class generous_service final : public echo_service {
 public:
  int large = 0;
  reply<echo::Text> SayAtOnce(server_context&, const echo::Text& request) override {
    return reply_to(request);
  }
  reply<echo::Text> Say(server_context&, const echo::Text& request) override {
    co_await sleep_for(1ms);
    co_return reply_to(request);
  }

 private:
  echo::Text reply_to(const echo::Text& request) {
    if (request.count() > 1000) ++large;
    echo::Text reply;
    reply.set_text(std::string(static_cast<std::size_t>(request.count()), 'x'));
    return reply;
  }
};

// A client that grants no window, and requests `n` replies of a megabyte.
std::string pinning(const std::string& path, int n) {
  std::string content = raw_frames::greeting("\0\4\0\0\0\0"s);
  echo::Text request;
  request.set_count(megabyte);
  const std::string body = request.SerializeAsString();
  for (int i = 0; i < n; ++i) {
    content += raw_frames::head(path, 2 * i + 1);
    content += raw_frames::frame(raw_frames::data, raw_frames::end_stream, 2 * i + 1,
                                 "\0\0\0\0"s + static_cast<char>(body.size()) + body);
  }
  return content;
}

struct program {
  static task<> attack(std::string at, std::string content) {
    auto connected = co_await net::stream::connect(net::address::parse(at).value());
    EXPECT_TRUE(connected.ok());
    if (!connected) co_return;
    static_cast<void>(co_await connected->write(as_bytes(content)));
    std::uint8_t bytes[4096];
    for (;;) {  // until the server closes the connection
      const auto got = co_await connected->read(bytes);
      if (!got || *got == 0) co_return;
    }
  }
  static task<int> call(echo_stub s, int n) {
    int served = 0;
    const echo::Text request;
    for (int i = 0; i < n; ++i) {
      const auto reply = co_await s.SayAtOnce(request);
      served += reply.ok();
      co_await sleep_for(10ms);
    }
    co_return served;
  }
};

struct outcome {
  int served = 0;
  int large = 0;
  duration attacked{};
  std::size_t used_bytes = 0;
};

outcome play(const std::string& path, std::size_t quota_bytes) {
  sim::world world(7);
  runtime& server_host = world.host("server");
  runtime& client_host = world.host("client");
  runtime& attacking_host = world.host("attacker");
  generous_service service;
  const memory_quota quota(quota_bytes);
  outcome o;
  server_options options;
  options.memory = quota;
  {
    server srv(server_host, options);
    srv.add(service);
    EXPECT_EQ(srv.listen("0.0.0.0:50051", insecure()), status());
    const std::string at = world.address_of("server") + ":50051";
    channel c(client_host, at, insecure());
    attacking_host.spawn(program::attack(at, pinning(path, 500)));
    o.served = sync_wait(client_host, program::call(echo_stub(c), 200));
    o.large = service.large;
    o.used_bytes = quota.used_bytes();
    const time_point began = world.now();
    sync_wait(attacking_host, program::attack(at, pinning(path, 500)));
    o.attacked = world.now() - began;
  }
  EXPECT_EQ(quota.used_bytes(), 0u);
  return o;
}

TEST(UnreadReplies, AreABoundOnTheWorkThatIsDoneForTheirClient) {
  const outcome o = play("/echo.Echo/SayAtOnce", std::size_t{1} << 30);
  EXPECT_EQ(o.served, 200);
  EXPECT_LE(o.large, 5) << "4 MiB are unread then, and the other calls wait";
  EXPECT_LT(o.used_bytes, std::size_t{8} << 20);
  EXPECT_GE(o.attacked, 60s);
  EXPECT_LE(o.attacked, 130s) << "no byte could leave for a minute or two";
}

TEST(UnreadReplies, ThatHandlersMadeTogetherAreBoundedByTheQuota) {
  const outcome o = play("/echo.Echo/Say", std::size_t{32} << 20);
  EXPECT_EQ(o.served, 200);
  EXPECT_LT(o.used_bytes, std::size_t{32} << 20);
  EXPECT_LT(o.attacked, 10s) << "the one that holds most is closed at once";
}

}  // namespace
}  // namespace coracle::testing_support::abuse_test
