// What docs/guides/testing.md shows, and the rest of the test kit.
#include "coracle/testing/service_fixture.hpp"
#include "coracle/testing/simulated_fixture.hpp"
#include "echo.coracle.fake.hpp"
#include "support/at_once.hpp"

#include "coracle/client.hpp"
#include "coracle/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace service_fixture_test {
namespace {

using namespace std::chrono_literals;

echo::Text text(std::string text) {
  echo::Text t;
  t.set_text(std::move(text));
  return t;
}

// --8<-- [start:service]
class parrot final : public echo::rpc::Echo::service {
  coracle::reply<echo::Text> Say(coracle::server_context&, const echo::Text& request) override {
    if (request.text().empty()) co_return coracle::status::invalid_argument("say something");
    co_return request;
  }
};

TEST(AParrot, RefusesSilence) {
  coracle::testing::service_fixture<parrot> fixture;
  const echo::rpc::Echo::stub stub(fixture.channel());
  const auto reply = coracle::sync_wait(stub.Say(echo::Text()));
  EXPECT_EQ(reply.status(), coracle::status::invalid_argument("say something"));
}
// --8<-- [end:service]

// --8<-- [start:caller]
// Asks another service, twice if need be.
class patient_relay final : public echo::rpc::Echo::service {
 public:
  explicit patient_relay(coracle::channel backend) : backend_(std::move(backend)) {}

 private:
  coracle::reply<echo::Text> Say(coracle::server_context&, const echo::Text& request) override {
    auto reply = co_await backend_.Say(request);
    if (!reply) reply = co_await backend_.Say(request);
    co_return reply;
  }
  const echo::rpc::Echo::stub backend_;
};
// --8<-- [end:caller]

// --8<-- [start:fake]
TEST(APatientRelay, AsksTwice) {
  coracle::testing::service_fixture<echo::rpc::EchoFake> backend;
  coracle::testing::service_fixture<patient_relay> fixture(backend.runtime(), backend.channel());
  const echo::rpc::Echo::stub stub(fixture.channel());
  auto& say = backend.service().on.Say;

  say.fails(coracle::status::unavailable("asleep"));
  EXPECT_EQ(coracle::sync_wait(stub.Say(text("hello"))).status(), coracle::status::unavailable("asleep"));
  ASSERT_EQ(say.calls().size(), 2u);
  EXPECT_EQ(say.calls()[1].requests.front().text(), "hello");

  say.returns(text("pretty bird"));
  EXPECT_EQ(coracle::sync_wait(stub.Say(text("hello")))->text(), "pretty bird");
}
// --8<-- [end:fake]

// --8<-- [start:gmock]
class mock_echo : public echo::rpc::Echo::service {
 public:
  MOCK_METHOD(coracle::reply<echo::Text>, Say, (coracle::server_context&, const echo::Text&), (override));
};

TEST(APatientRelay, AsksAgainWithTheSameWords) {
  coracle::testing::service_fixture<mock_echo> backend;
  coracle::testing::service_fixture<patient_relay> fixture(backend.runtime(), backend.channel());
  const echo::rpc::Echo::stub stub(fixture.channel());

  const auto hello = ::testing::Property(&echo::Text::text, "hello");
  EXPECT_CALL(backend.service(), Say(::testing::_, hello))
      .WillOnce([](auto&, auto&) { return coracle::status::unavailable("asleep"); })
      .WillOnce([](auto&, auto&) { return text("pretty bird"); });
  EXPECT_EQ(coracle::sync_wait(stub.Say(text("hello")))->text(), "pretty bird");
}
// --8<-- [end:gmock]

// --8<-- [start:clock]
TEST(ASimulatedFixture, LetsAnHourPassInNoTime) {
  coracle::testing::simulated_fixture<echo::rpc::EchoFake> fixture(1);  // the seed
  fixture.service().on.Say = [](coracle::server_context&,
                                const echo::Text& request) -> coracle::reply<echo::Text> {
    co_await coracle::sleep_for(1h);
    co_return request;
  };
  const echo::rpc::Echo::stub stub(fixture.channel());
  const auto began = fixture.world().now();
  EXPECT_EQ(coracle::sync_wait(stub.Say(text("at last")))->text(), "at last");
  EXPECT_GE(fixture.world().now() - began, 1h);

  const auto late = coracle::sync_wait(stub.Say(text("never"), coracle::within(59min)));
  EXPECT_EQ(late.status().code(), coracle::status_code::deadline_exceeded);
}
// --8<-- [end:clock]

class fakes : public ::testing::Test {
 protected:
  coracle::testing::service_fixture<echo::rpc::EchoFake> fixture_;
  const echo::rpc::Echo::stub stub_{fixture_.channel()};
  decltype(echo::rpc::EchoFake::on)& on_ = fixture_.service().on;
};

TEST_F(fakes, AreUnimplementedUntilTheyAreTold) {
  const auto reply = coracle::sync_wait(stub_.Say(text("x")));
  EXPECT_EQ(reply.status().code(), coracle::status_code::unimplemented);
  EXPECT_EQ(on_.Say.calls().size(), 1u);
  EXPECT_TRUE(on_.SayAtOnce.calls().empty());
}

TEST_F(fakes, RememberMetadataAndDeadlines) {
  on_.Say.returns(text("y"));
  const auto options = coracle::within(1h).add_metadata("x-user", "ada");
  EXPECT_EQ(coracle::sync_wait(stub_.Say(text("x"), options)).status(), coracle::status());
  const auto calls = on_.Say.calls();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].metadata.find("x-user"), "ada");
  EXPECT_NE(calls[0].deadline, coracle::never);
}

TEST_F(fakes, TakeHandlersThatAreNoCoroutines) {
  on_.Say = [n = 0](coracle::server_context&, const echo::Text& request) mutable {
    return text(request.text() + std::to_string(++n));
  };
  EXPECT_EQ(coracle::sync_wait(stub_.Say(text("x")))->text(), "x1");
  EXPECT_EQ(coracle::sync_wait(stub_.Say(text("x")))->text(), "x2");
}

TEST_F(fakes, AnswerAClientStreamBehindItsLastRequest) {
  on_.Collect.returns(text("all"));
  auto call = stub_.Collect();
  coracle::sync_wait(call.write(text("a"))).throw_if_error();
  coracle::sync_wait(call.write(text("b"))).throw_if_error();
  EXPECT_EQ(coracle::sync_wait(call.finish())->text(), "all");
  const auto calls = on_.Collect.calls();
  ASSERT_EQ(calls.size(), 1u);
  ASSERT_EQ(calls[0].requests.size(), 2u);
  EXPECT_EQ(calls[0].requests[1].text(), "b");
}

TEST_F(fakes, SendEveryReplyOfAStream) {
  on_.Repeat.returns({text("a"), text("b")});
  auto call = stub_.Repeat(text("x"));
  EXPECT_EQ(coracle::sync_wait(call.next()).value()->text(), "a");
  EXPECT_EQ(coracle::sync_wait(call.next()).value()->text(), "b");
  EXPECT_EQ(coracle::sync_wait(call.next()).value(), std::nullopt);
}

TEST_F(fakes, ReadAWholeConversationBeforeTheyAnswer) {
  on_.Chat.returns({text("c")});
  auto call = stub_.Chat();
  coracle::sync_wait(call.write(text("a"))).throw_if_error();
  coracle::sync_wait(call.writes_done());
  EXPECT_EQ(coracle::sync_wait(call.next()).value()->text(), "c");
  EXPECT_EQ(coracle::sync_wait(call.finish()), coracle::status());
  EXPECT_EQ(on_.Chat.calls().at(0).requests.at(0).text(), "a");
}

TEST_F(fakes, ConverseAsAHandlerDoes) {
  on_.Chat = [](coracle::server_context&, coracle::reader<echo::Text> texts) -> coracle::replies<echo::Text> {
    while (const auto one = co_await texts.next()) co_yield *one;
    co_return coracle::ok;
  };
  auto call = stub_.Chat();
  coracle::sync_wait(call.write(text("a"))).throw_if_error();
  EXPECT_EQ(coracle::sync_wait(call.next()).value()->text(), "a");
  EXPECT_EQ(coracle::sync_wait(call.finish()), coracle::status());
}

TEST_F(fakes, FailStreamsAsWell) {
  on_.Repeat.fails(coracle::status::aborted("no"));
  auto call = stub_.Repeat(text("x"));
  EXPECT_EQ(coracle::sync_wait(call.finish()), coracle::status::aborted("no"));
}

// A claim of fake_method.hpp; see thread_claims_test.cpp.
TEST(AFake, IsToldAndAskedByAllThreads) {
  constexpr int threads = 4;
  constexpr int rounds = 25;
  coracle::runtime two_loops(2);
  echo::rpc::EchoFake fake;
  coracle::server server(two_loops);
  server.add(fake);
  auto& say = fake.on.Say;
  say.returns(text("0"));
  coracle::testing_support::at_once(threads, [&](int thread_index) {
    const std::string me = std::to_string(thread_index);
    coracle::channel to(two_loops, server.in_process());
    for (int i = 0; i < rounds; ++i) {
      if (i % 3 == 0) say.returns(text(me));
      else if (i % 3 == 1) say.fails(coracle::status::unavailable(me));
      else say = [me](coracle::server_context&, const echo::Text&) { return text(me); };
      const auto reply = coracle::sync_wait(echo::rpc::Echo::stub(to).Say(text(me)));
      const std::string answer(reply ? reply->text() : reply.status().message());
      EXPECT_TRUE(answer.size() == 1 && answer >= "0" && answer < std::to_string(threads)) << answer;
      EXPECT_GT(say.calls().size(), static_cast<std::size_t>(i));
    }
  });
  std::map<std::string, int> calls;
  for (const auto& call : say.calls()) ++calls[call.requests.at(0).text()];
  EXPECT_EQ(calls, (std::map<std::string, int>{{"0", rounds}, {"1", rounds}, {"2", rounds}, {"3", rounds}}));
}

TEST_F(fakes, KeepTheBehaviourThatACallBeganWith) {
  on_.Chat = [mark = std::string("old")](coracle::server_context&,
                                         coracle::reader<echo::Text> texts) -> coracle::replies<echo::Text> {
    while (co_await texts.next()) co_yield text(mark);
    co_return coracle::ok;
  };
  auto call = stub_.Chat();
  coracle::sync_wait(call.write(text("a"))).throw_if_error();
  EXPECT_EQ(coracle::sync_wait(call.next()).value()->text(), "old");
  on_.Chat.fails(coracle::status::aborted("new"));
  coracle::sync_wait(call.write(text("a"))).throw_if_error();
  EXPECT_EQ(coracle::sync_wait(call.next()).value()->text(), "old");
  auto another = stub_.Chat();
  EXPECT_EQ(coracle::sync_wait(another.finish()), coracle::status::aborted("new"));
}

}  // namespace
}  // namespace service_fixture_test
