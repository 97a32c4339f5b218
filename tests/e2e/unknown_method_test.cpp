// Calls of methods that the server does not have: who is notified.
#include "support/borrowed.hpp"
#include "support/echo_fixture.hpp"

#include "coracle/client/generic_stub.hpp"
#include "coracle/server/access_log.hpp"
#include "coracle/server/authorization.hpp"
#include "coracle/server/server_observer.hpp"
#include "support/kept_log.hpp"

#include <gmock/gmock.h>

#include <atomic>

namespace coracle::testing_support::unknown_method_test {
namespace {

class counting final : public server_observer {
 public:
  std::atomic<int> started{0};
  std::atomic<int> unimplemented{0};
  void call_started(served_call& c) noexcept override { started += c.context.method() == "/no.Such/Method"; }
  void call_ended(served_call& c, const status& outcome, time_point) noexcept override {
    unimplemented += c.context.method() == "/no.Such/Method" && outcome.code() == status_code::unimplemented;
  }
};

class unknown_method : public echo_fixture {
 protected:
  void serve(const server_options& options, std::vector<std::shared_ptr<server_interceptor>> around) {
    channel_.reset();
    server_.emplace(rt(), options);
    server_->add(service_);
    for (auto& i : around) server_->add_interceptor(std::move(i));
    link();
  }
  static task<status> ask(generic_stub s, const char* path = "/no.Such/Method") {
    const bytes_message request;
    const auto reply = co_await s.unary(path, request);
    co_return reply.status();
  }
  status call() { return run(ask(generic_stub(*channel_))); }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, unknown_method, every_world_and_link, echo_fixture::case_name);

TEST_P(unknown_method, IsToldToTheObserver) {
  counting received;
  server_options options;
  options.observer = borrowed(received);
  serve(options, {});
  const status outcome = call();
  EXPECT_EQ(outcome, status::unimplemented("the server has no such method"));
  EXPECT_EQ(received.started, 1);
  EXPECT_EQ(received.unimplemented, 1);
  EXPECT_EQ(sync_wait(stub().Say(text("known"))).status(), status());
  EXPECT_EQ(received.started, 1);
  server_.reset();
}

TEST_P(unknown_method, IsInTheAccessLog) {
  kept_log log;
  serve({}, {std::make_shared<access_log>(log)});
  EXPECT_EQ(call().code(), status_code::unimplemented);
  EXPECT_THAT(log.text(), ::testing::HasSubstr("call=/no.Such/Method"));
  EXPECT_THAT(log.text(), ::testing::HasSubstr("status=UNIMPLEMENTED"));
}

// They violate the rules of URIs: the request is malformed (RFC 9113 8.1.1), and its stream is reset.
TEST_P(unknown_method, WithOtherCharactersThanPrintableAsciiReachesNeitherInterceptorsNorTheLog) {
  kept_log log;
  serve({}, {std::make_shared<access_log>(log)});
  for (const char* path :
       {"/no.Such/Method status=OK", "/no.Such/\x1b[31m", "/no.Such/\xc3\xbc", "/no.Such/\x7f"})
    EXPECT_EQ(run(ask(generic_stub(*channel_), path)).code(), status_code::internal) << path;
  EXPECT_EQ(log.text(), "");
  EXPECT_EQ(run(ask(generic_stub(*channel_), "/no.Such/%C3%BC")).code(), status_code::unimplemented);
  EXPECT_THAT(log.text(), ::testing::HasSubstr("call=/no.Such/%C3%BC peer="));
}

TEST_P(unknown_method, IsNotToldToWhoMayNotCall) {
  serve({}, {authorize([](const server_context&) { return status::unauthenticated("who are you?"); })});
  EXPECT_EQ(call(), status::unauthenticated("who are you?"));
}

TEST_P(unknown_method, IsUnimplementedWhereNobodyListensToo) {
  EXPECT_EQ(call(), status::unimplemented("the server has no such method"));
}

}  // namespace
}  // namespace coracle::testing_support::unknown_method_test
