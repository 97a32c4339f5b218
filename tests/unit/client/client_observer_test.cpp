// The notifications of an observer about a client's calls and their attempts.
#include "support/borrowed.hpp"
#include "unit/client/attempts_fixture.hpp"

namespace coracle::testing_support::client_observer_test {
namespace {

// Records each event as a line.
class notes final : public client_observer {
 public:
  std::string lines;
  observed_call* last = nullptr;
  call_traffic traffic;  // of the last attempt that ended
  duration retry_delay{};

  void call_started(observed_call& c) noexcept override {
    last = &c;
    note("call ", c.method);
  }
  void attempt_started(observed_attempt& a) noexcept override {
    constexpr const char* kinds[] = {"first", "retry", "hedge", "transparent"};
    a.user = this;
    a.more.add("x-span", std::to_string(a.call.attempts));
    note("  begins ", kinds[static_cast<int>(a.kind)]);
  }
  void attempt_attached(observed_attempt& a) noexcept override {
    note("  attached", a.peer ? "" : " to nobody");
  }
  void message_sent(observed_attempt&, message_size m) noexcept override {
    note("  sent ", std::to_string(m.bytes) + "/" + std::to_string(m.wire_bytes));
  }
  void headers_received(observed_attempt&, time_point) noexcept override { note("  head"); }
  void message_received(observed_attempt&, message_size m) noexcept override {
    note("  received ", std::to_string(m.wire_bytes));
  }
  void attempt_ended(observed_attempt& a, const status& outcome, time_point) noexcept override {
    EXPECT_EQ(a.user, this);
    traffic = a.traffic;
    note("  ends ", name_of(outcome.code()));
  }
  void call_ended(observed_call& c, const status& outcome, time_point) noexcept override {
    EXPECT_EQ(&c, last);
    retry_delay = c.retry_delay;
    note("ended ", name_of(outcome.code()));
  }

 private:
  void note(std::string_view text, std::string_view more = {}) {
    lines.append(text).append(more).append("\n");
  }
};

class an_observer : public attempts_fixture {
 protected:
  an_observer() { calls_.watcher = borrowed(notes_); }
  notes notes_;
};

TEST_F(an_observer, SeesAPlainCallAndItsAttempt) {
  server_.script = [](scripted_request& r) {
    r.when_complete = [](scripted_request& c) { c.reply("four"); };
  };
  say("x");
  EXPECT_EQ(notes_.lines,
            "call /scripted.Service/Method\n  begins first\n  attached\n  sent 3/3\n  head\n  received 6\n"
            "  ends OK\nended OK\n");
  EXPECT_EQ(notes_.traffic.messages_sent, 1u);
  EXPECT_EQ(notes_.traffic.bytes_received, 6u);
}

TEST_F(an_observer, SeesTheRetriesOfACallAndTheirPauses) {
  retry(3);
  server_.script = [](scripted_request& r) {
    if (r.field("x-number") != "3") return r.fail(status_code::unavailable, "500");
    r.when_complete = [](scripted_request& c) { c.reply("four"); };
  };
  say("x");
  EXPECT_EQ(notes_.lines,
            "call /scripted.Service/Method\n"
            "  begins first\n  attached\n  sent 3/3\n  ends UNAVAILABLE\n"
            "  begins retry\n  attached\n  sent 3/3\n  ends UNAVAILABLE\n"
            "  begins retry\n  attached\n  sent 3/3\n  head\n  received 6\n  ends OK\nended OK\n");
  EXPECT_EQ(notes_.retry_delay, 1s);
}

TEST_F(an_observer, SeesHedgesAndThatTheSlowOnesAreCancelled) {
  hedge(2, 50ms);
  server_.script = [](scripted_request& r) {
    if (r.field("x-number") == "2") r.when_complete = [](scripted_request& c) { c.reply("four"); };
  };
  say("x");
  EXPECT_EQ(notes_.lines,
            "call /scripted.Service/Method\n"
            "  begins first\n  attached\n  sent 3/3\n  begins hedge\n  attached\n  sent 3/3\n"
            "  ends CANCELLED\n  head\n  received 6\n  ends OK\nended OK\n");
}

TEST_F(an_observer, SeesATransparentRetry) {
  server_.script = [](scripted_request& r) {
    if (r.field("x-number") == "1") return r.refuse();
    r.fail(status_code::not_found);
  };
  say("x");
  EXPECT_EQ(notes_.lines,
            "call /scripted.Service/Method\n"
            "  begins first\n  attached\n  sent 3/3\n  ends UNAVAILABLE\n"
            "  begins transparent\n  attached\n  sent 3/3\n  ends NOT_FOUND\nended NOT_FOUND\n");
}

TEST_F(an_observer, SeesTheEndOfACallThatNeverGotAConnection) {
  server_.reachable = false;
  say("x", within(1s));
  EXPECT_EQ(notes_.lines,
            "call /scripted.Service/Method\n  begins first\n  ends UNAVAILABLE\nended UNAVAILABLE\n");
}

TEST_F(an_observer, SeesTheEndOfACallThatIsCancelledInAPause) {
  retry(2);
  server_.script = [](scripted_request& r) { r.fail(status_code::unavailable, "5000"); };
  say("x", within(1s));
  EXPECT_EQ(notes_.lines,
            "call /scripted.Service/Method\n  begins first\n  attached\n  sent 3/3\n  ends UNAVAILABLE\n"
            "ended DEADLINE_EXCEEDED\n");
}

TEST_F(an_observer, AddsMetadataToEachAttempt) {
  retry(2);
  server_.script = [](scripted_request& r) { r.fail(status_code::unavailable); };
  say("x");
  ASSERT_EQ(server_.requests.size(), 2u);
  EXPECT_EQ(server_.requests[0]->field("x-span"), "1");
  EXPECT_EQ(server_.requests[1]->field("x-span"), "2");
}

TEST_F(an_observer, AddsItInPlaceOfWhatTheCallSays) {
  server_.script = [](scripted_request& r) { r.fail(status_code::not_found); };
  say("x", call_options().add_metadata("x-span", "the call's").add_metadata("x-other", "stays"));
  ASSERT_EQ(server_.requests.size(), 1u);
  EXPECT_EQ(server_.requests[0]->field("x-span"), "1");
  EXPECT_EQ(server_.requests[0]->field("x-other"), "stays");
}

TEST_F(an_observer, SeesEachMessageOfAStream) {
  server_.script = [](scripted_request& r) {
    r.when_complete = [](scripted_request& c) {
      c.send_headers();
      c.send_message("one");
      c.send_message("three");
      c.end(status_code::ok);
    };
  };
  struct program {
    static task<> talk(configured_channel& to) {
      stream_call call(to, "/s/m", call_options());
      for (int i = 0; i < 2; ++i) {
        const text m = text_of("x");
        (co_await call.write(m)).throw_if_error();
      }
      co_await call.writes_done();
      while ((co_await call.next()).value()) {
      }
      const status outcome = co_await call.finish();
      EXPECT_EQ(outcome, status());
    }
  };
  run(program::talk(calls_));
  // Also the messages that were not read when the call ended.
  EXPECT_EQ(notes_.lines,
            "call /s/m\n  begins first\n  attached\n  sent 3/3\n  sent 3/3\n  head\n"
            "  received 5\n  received 7\n  ends OK\nended OK\n");
  EXPECT_EQ(notes_.traffic.messages_sent, 2u);
}

}  // namespace
}  // namespace coracle::testing_support::client_observer_test
