// What a client's call knows of its server, and the :authority of one call at both ends.
#include "support/echo_fixture.hpp"

namespace coracle::testing_support::call_peer_test {
namespace {

using namespace std::chrono_literals;

// Replies with the authority of the call.
class authority_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context& context, const echo::Text&) override {
    co_return make_text(std::string(context.authority()));
  }
};

class CallPeer : public echo_fixture {
 protected:
  static task<> of_both_kinds(const channel& by, net::address* seen) {
    auto unary = echo_stub(by).Say(text("hello"), within(20s));
    EXPECT_EQ(unary.peer(), nullptr);
    const auto reply = co_await unary;
    EXPECT_TRUE(reply.ok());
    EXPECT_NE(unary.peer(), nullptr);
    auto stream = echo_stub(by).Chat(within(20s));
    EXPECT_EQ(stream.peer(), nullptr);
    (co_await stream.write(text("hello"))).throw_if_error();
    const auto first = (co_await stream.next()).value();
    EXPECT_TRUE(first);
    EXPECT_EQ(stream.peer(), unary.peer());  // one connection
    const status outcome = co_await stream.finish();
    EXPECT_EQ(outcome, status());
    if (unary.peer()) {
      EXPECT_EQ(unary.peer()->auth, nullptr);
      *seen = unary.peer()->address;
    }
  }
  static task<> without_a_server(const channel& by) {
    auto unary = echo_stub(by).Say(text("hello"), within(20s));
    const auto reply = co_await unary;
    EXPECT_EQ(reply.status().code(), status_code::unavailable);
    EXPECT_EQ(unary.peer(), nullptr);
  }
  static task<status> with_authority(const channel& by, const char* authority) {
    call_options options = within(20s);
    options.authority = authority;
    const echo_stub stub(by);
    const echo::Text request = text("hello");
    const auto reply = co_await stub.Say(request, options);
    co_return reply.status();
  }
  static task<std::string> seen_by_server(const channel& by, std::string authority) {
    call_options options = within(20s);
    options.authority = std::move(authority);
    const echo_stub stub(by);
    const echo::Text request;
    const auto reply = co_await stub.Say(request, options);
    EXPECT_TRUE(reply.ok()) << reply.status();
    co_return reply.ok() ? reply->text() : std::string();
  }
  service& served() noexcept override {
    return answers_authority_ ? static_cast<service&>(authority_) : echo_fixture::served();
  }
  authority_service authority_;
  bool answers_authority_ = false;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, CallPeer, every_world_and_link, echo_fixture::case_name);

TEST_P(CallPeer, IsTheServerOfItsConnection) {
  net::address seen;
  run(of_both_kinds(*channel_, &seen));
  const link_kind by = std::get<1>(GetParam());
  if (by == link_kind::tcp) {
    EXPECT_EQ(seen.port(), server_->port());
  } else if (by == link_kind::unix_socket) {
    EXPECT_EQ(seen.to_string(), address_);
  }
}

TEST_P(CallPeer, IsNullWithoutAConnection) {
  server_.reset();
  run(without_a_server(*channel_));
}

TEST_P(CallPeer, AnswersUnderTheAuthorityOfTheCall) {
  server_options options;
  options.web.allowed_hosts = {"movies.example"};
  make_server(options);
  EXPECT_EQ(run(with_authority(*channel_, "movies.example")), status());
  EXPECT_EQ(run(with_authority(*channel_, "other.example")).code(), status_code::permission_denied);
  EXPECT_EQ(run(with_authority(*channel_, "movies.example")), status());  // the connection is the same
}

TEST_P(CallPeer, FindsTheAuthorityOfEachCallAtTheServer) {
  answers_authority_ = true;
  make_server({});
  const std::string of_channel = run(seen_by_server(*channel_, ""));
  if (std::get<1>(GetParam()) == link_kind::tcp) {
    EXPECT_EQ(of_channel, address_);
  }
  EXPECT_NE(of_channel, "");
  EXPECT_EQ(run(seen_by_server(*channel_, "movies.example:1")), "movies.example:1");
  EXPECT_EQ(run(seen_by_server(*channel_, "movies.example:1")), "movies.example:1");
  EXPECT_EQ(run(seen_by_server(*channel_, std::string(1'000, 'a'))), std::string(1'000, 'a'));
  EXPECT_EQ(run(seen_by_server(*channel_, "")), of_channel);
}

}  // namespace
}  // namespace coracle::testing_support::call_peer_test
