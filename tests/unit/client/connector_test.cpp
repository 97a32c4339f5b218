// Custom connectors that fail in other ways than by a status.
#include "coracle/client/connector.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/client/unary_call.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <google/protobuf/wrappers.pb.h>

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace coracle::client::connector_test {
namespace {

using namespace std::chrono_literals;
using text = google::protobuf::StringValue;
using made = result<std::unique_ptr<net::byte_stream>>;

// Not a coroutine: throws from the call itself.
class throws_at_once final : public connector {
 public:
  task<made> connect() override { throw std::runtime_error("at once"); }
  [[nodiscard]] std::string authority() const override { return "nowhere"; }
};

class throws_later final : public connector {
 public:
  task<made> connect() override {
    if (authority() == "nowhere") throw std::runtime_error("later");
    co_return status::unavailable("never");
  }
  [[nodiscard]] std::string authority() const override { return "nowhere"; }
};

TEST(Connector, ThatThrowsFailsTheAttemptLikeAnyOther) {
  struct program {
    static task<status> ask(channel& by) {
      const text request;
      const auto reply = co_await unary_call<text>(by, "/s/m", request, within(10s));
      co_return reply.status();
    }
  };
  sim::world world{1};
  runtime& host = world.host("host", 1);
  for (const std::shared_ptr<connector>& by :
       {std::shared_ptr<connector>(std::make_shared<throws_at_once>()),
        std::shared_ptr<connector>(std::make_shared<throws_later>())}) {
    channel c(host, by);
    EXPECT_EQ(sync_wait(host, host.at(0), program::ask(c)),
              status::unavailable("cannot connect to nowhere: the connector threw an exception"));
  }
}

}  // namespace
}  // namespace coracle::client::connector_test
