// Transparent retries (gRFC A6): an attempt that the server surely has not seen is made again, policy or not.
#include "unit/client/attempts_fixture.hpp"

namespace coracle::testing_support {
namespace {

class transparently : public attempts_fixture {
 protected:
  void refuse_first() {
    server_.script = [](scripted_request& r) {
      if (r.field("x-number") == "1") return r.refuse();
      r.when_complete = [](scripted_request& c) { c.reply(c.body.substr(7)); };
    };
  }
};

TEST_F(transparently, AUnaryCallIsMadeAgainAtOnce) {
  refuse_first();
  const answer a = say("kept");
  EXPECT_EQ(a.text, "kept");
  EXPECT_LE(ms(a.ended), 1);
  EXPECT_EQ(server_.requests[1]->field("grpc-previous-rpc-attempts"), "");
}

TEST_F(transparently, ACallIsMadeAgainOnlyOnce) {
  server_.script = [](scripted_request& r) { r.refuse(); };
  EXPECT_EQ(say("x").how.code(), status_code::unavailable);
  EXPECT_EQ(server_.requests.size(), 2u);
}

TEST_F(transparently, ACallBehindAGoawayGoesToTheNextConnection) {
  server_.script = [this](scripted_request& r) {
    if (r.field("x-number") == "1") server_.go_away();
    r.when_complete = [](scripted_request& c) { c.reply("well"); };
  };
  struct program {
    // Calls that leave while the GOAWAY is on its way.
    static task<int> many(configured_channel& to) {
      scope work{co_await coro::this_environment()};
      int well = 0;
      struct one {
        static task<> call(configured_channel& through, int& count) {
          const answer a = co_await say_through(through, "x", call_options());
          if (a.how.ok()) ++count;
        }
      };
      for (int i = 0; i < 50; ++i) {
        work.spawn(one::call(to, well));
        co_await sleep_for(1us);  // sleeps on purpose: virtual time
      }
      co_await work.join();
      co_return well;
    }
  };
  EXPECT_EQ(run(program::many(calls_)), 50);
}

TEST_F(transparently, AServerStreamingCallSendsItsRequestAgain) {
  refuse_first();
  struct program {
    static task<std::string> first_reply(configured_channel& to) {
      const text request = text_of("kept");
      server_streaming_call<text> call(to, "/s/m", request, call_options());
      const auto reply = co_await call.next();
      co_return reply ? reply->value() : "none";
    }
  };
  EXPECT_EQ(run(program::first_reply(calls_)), "kept");
}

TEST_F(transparently, AStreamIsMadeAgainBeforeAnythingWasWritten) {
  refuse_first();
  struct program {
    static task<status> quiet(configured_channel& to) {
      stream_call call(to, "/s/m", call_options());
      scope work{co_await coro::this_environment()};
      struct later {
        static task<> write(stream_call& c) {
          co_await sleep_for(1s);
          const text m = text_of("late");
          const status sent = co_await c.write_result(m);
          EXPECT_EQ(sent, status());
          co_await c.writes_done();
        }
      };
      work.spawn(later::write(call));
      const auto reply = co_await call.next_result();
      EXPECT_TRUE(reply.ok() && *reply && (*reply)->value() == "late");
      const status how = co_await call.finish();
      co_await work.join();
      co_return how;
    }
  };
  EXPECT_EQ(run(program::quiet(calls_)), status());
  EXPECT_EQ(server_.requests.size(), 2u);
}

TEST_F(transparently, AStreamIsNotMadeAgainWhenAMessageIsLost) {
  server_.script = [](scripted_request& r) { r.refuse(); };
  struct program {
    static task<status> talk(configured_channel& to) {
      stream_call call(to, "/s/m", call_options());
      const text m = text_of("lost");
      co_await call.write_result(m);
      co_return co_await call.finish();
    }
  };
  EXPECT_EQ(run(program::talk(calls_)).code(), status_code::unavailable);
  EXPECT_EQ(server_.requests.size(), 1u);
}

TEST_F(transparently, APolicysAttemptsAreNotCounted) {
  retry(2);
  server_.script = [](scripted_request& r) {
    if (r.field("x-number") == "1") return r.refuse();
    r.fail(status_code::unavailable);
  };
  say("x");
  ASSERT_EQ(server_.requests.size(), 3u);
  EXPECT_EQ(server_.requests[1]->field("grpc-previous-rpc-attempts"), "");
  EXPECT_EQ(server_.requests[2]->field("grpc-previous-rpc-attempts"), "1");
}

TEST_F(transparently, ASecondRefusalIsThePolicysToJudge) {
  retry(3);
  server_.script = [](scripted_request& r) {
    if (r.field("x-number") == "3") return r.reply("third");
    r.refuse();
  };
  EXPECT_EQ(say("x").text, "third");
  EXPECT_EQ(server_.requests[2]->field("grpc-previous-rpc-attempts"), "1");
}

}  // namespace
}  // namespace coracle::testing_support
