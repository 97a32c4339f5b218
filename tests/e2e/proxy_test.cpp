// Channels through a proxy that opens tunnels.
#include "support/connect_proxy.hpp"
#include "support/echo_fixture.hpp"

namespace coracle::testing_support::proxy_test {
namespace {

class through_a_proxy : public echo_fixture {
 protected:
  struct exchange {
    status outcome;
    std::vector<std::string> questions;
  };
  // A call to movies.example:1, whose server is that of the fixture.
  static task<exchange> call(net::address server, std::string user, std::string answer, std::string target) {
    connect_proxy proxy;
    proxy.routes.emplace_back("movies.example:1", server);
    if (!answer.empty()) proxy.answer = answer;
    proxy.start();
    exchange out;
    channel_options options;
    options.proxy = proxy.url(user);
    {
      channel c(loop::current()->owner(), target, insecure(), options);
      const echo::Text request = text("ahoy");
      const auto reply = co_await echo_stub(c).Say(request);
      out.outcome = reply.status();
      if (reply && reply->text() != "ahoy") out.outcome = status::internal("another text");
    }
    co_await sleep_for(std::chrono::milliseconds(1));
    co_await proxy.stop();
    out.questions = proxy.questions;
    co_return out;
  }
  exchange call(std::string user = {}, std::string answer = {}, std::string target = "movies.example:1") {
    return run(call(*net::address::parse(address_), user, answer, target));
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, through_a_proxy, every_world_over_tcp, echo_fixture::case_name);

TEST_P(through_a_proxy, AChannelAsksForItsTargetByName) {
  const exchange s = call();
  EXPECT_EQ(s.outcome, status());
  ASSERT_EQ(s.questions.size(), 1u);
  EXPECT_EQ(s.questions[0], "CONNECT movies.example:1 HTTP/1.1\r\nhost: movies.example:1\r\n\r\n");
}

TEST_P(through_a_proxy, AChannelSaysWhoItIs) {
  const exchange s = call("user:pass@");
  EXPECT_EQ(s.outcome, status());
  ASSERT_EQ(s.questions.size(), 1u);
  EXPECT_NE(s.questions[0].find("\r\nproxy-authorization: Basic dXNlcjpwYXNz\r\n"), std::string::npos);
}

TEST_P(through_a_proxy, ARefusalIsTheReasonOfTheCallsEnd) {
  const exchange s = call({}, {}, "elsewhere.example:1");
  EXPECT_EQ(s.outcome.code(), status_code::unavailable);
  EXPECT_NE(s.outcome.message().find("403 not there"), std::string_view::npos) << s.outcome;
}

TEST_P(through_a_proxy, AnAnswerThatIsNoneOrHasNoEndIsRefused) {
  EXPECT_EQ(call({}, "SSH-2.0-OpenSSH\r\n\r\n").outcome.code(), status_code::unavailable);
  EXPECT_EQ(call({}, "HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'x')).outcome.code(),
            status_code::unavailable);
}

}  // namespace
}  // namespace coracle::testing_support::proxy_test
