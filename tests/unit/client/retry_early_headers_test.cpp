// Waiting for the initial metadata of a server while attempts fail and others begin (gRFC A6).
#include "unit/client/attempts_fixture.hpp"

namespace coracle::testing_support::retry_early_headers_test {
namespace {

class early_head : public attempts_fixture {
 protected:
  // The number of the attempt.
  static task<std::string> wait(configured_channel& to) {
    stream_call call(to, "/s/m", within(60s));
    const status received = co_await call.wait_for_initial_metadata();
    EXPECT_EQ(received, status());
    co_return std::string(call.initial_metadata().find("x-attempt").value_or("none"));
  }
};

TEST_F(early_head, IsThatOfTheAttemptThatTheCallIsCommittedTo) {
  retry(3);
  server_.script = [](scripted_request& r) {
    if (r.field("x-number") == "3") return r.send_headers();
    r.fail(status_code::unavailable);
  };
  EXPECT_EQ(run(wait(calls_)), "3");
}

TEST_F(early_head, IsThatOfATransparentRetry) {
  server_.script = [](scripted_request& r) {
    if (r.field("x-number") == "1") return r.refuse();
    r.send_headers();
  };
  EXPECT_EQ(run(wait(calls_)), "2");
}

}  // namespace
}  // namespace coracle::testing_support::retry_early_headers_test
