// Channels whose connections begin at a local address of the user's choice.
#include "coracle/client/channel_pool.hpp"
#include "coracle/net/listener.hpp"
#include "support/echo_fixture.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <utility>

namespace coracle::testing_support::local_address_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Answers with the address of its client.
class peer_service final : public echo::rpc::Echo::service {
  reply<echo::Text> Say(server_context& context, const echo::Text&) override {
    echo::Text reply;
    reply.set_text(context.peer().to_string());
    co_return reply;
  }
};

class a_local_address : public echo_fixture {
 protected:
  [[nodiscard]] service& served() noexcept override { return peers_; }
  static net::address address(std::string_view text) { return *net::address::parse(text); }
  static task<std::string> ask(channel& c) {
    const echo::Text request;
    const auto reply = co_await echo_stub(c).Say(request, within(20s));
    co_return reply ? reply->text() : reply.status().to_string();
  }
  std::string answer(std::string_view local, const std::string& proxy = {}) {
    channel_options options;
    options.proxy = proxy;
    options.local_address = address(local);
    channel c(rt(), proxy.empty() ? address_ : "movies.example:1", insecure(), options);
    return run(ask(c));
  }
  peer_service peers_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, a_local_address, every_world_over_tcp, echo_fixture::case_name);

TEST_P(a_local_address, IsWhereTheConnectionsComeFrom) {
  const std::string first = answer("127.0.0.2:0");
  EXPECT_THAT(first, StartsWith("127.0.0.2:"));
  EXPECT_NE(first, "127.0.0.2:0");
  EXPECT_THAT(answer("127.0.0.3:0"), StartsWith("127.0.0.3:"));
  EXPECT_THAT(answer("0.0.0.0:0"), StartsWith("127.0.0.1:")) << "the system chooses";
}

TEST_P(a_local_address, MayHaveAPort) {
  struct program {
    static task<std::string> free_one() {
      net::listener l = *net::listener::open(address("127.0.0.2:0"));
      std::string found = l.local_address().to_string();
      co_await l.close();
      co_return found;
    }
  };
  const std::string local = run(program::free_one());
  EXPECT_EQ(answer(local), local);
  // To another server, so that the connection before it, which may linger, is another one.
  make_server({});
  EXPECT_EQ(answer(local), local);
}

TEST_P(a_local_address, OfAnotherKindThanTheServersIsTheReasonOfTheFailure) {
  const std::string reason = answer("[::1]:0");
  EXPECT_THAT(reason, StartsWith("UNAVAILABLE"));
  EXPECT_THAT(reason, HasSubstr("the local address [::1]:0 is of another family than " + address_));
}

TEST_P(a_local_address, ThatTheMachineDoesNotHaveIsTheReasonOfTheFailure) {
  const std::string reason = answer("192.0.2.1:0");
  EXPECT_THAT(reason, StartsWith("UNAVAILABLE"));
  EXPECT_THAT(reason,
              HasSubstr("cannot bind a connection to the local address 192.0.2.1:0: this machine has no such "
                        "address"));
}

TEST_P(a_local_address, IsThatOfTheConnectionToAProxyToo) {
  EXPECT_THAT(answer("192.0.2.1:0", "http://" + address_),
              HasSubstr("cannot connect to the proxy: cannot bind"));
}

TEST_P(a_local_address, MakesOptionsDifferentForAPool) {
  channel_pool pool(rt());
  const auto at = [&](std::string_view local) {
    channel_options options;
    options.local_address = address(local);
    return pool.get(address_, insecure(), options);
  };
  const auto one = at("127.0.0.2:0");
  EXPECT_EQ(one, at("127.0.0.2:0"));
  EXPECT_NE(one, at("127.0.0.3:0"));
  EXPECT_NE(one, pool.get(address_, insecure()));
}

}  // namespace
}  // namespace coracle::testing_support::local_address_test
