// Streams under a policy (gRFC A6): written messages are sent again, memory is bounded, writers wait for
// room.
#include "unit/client/attempts_fixture.hpp"

namespace coracle::testing_support::retry_replay_test {
namespace {

// The messages of a body, without their prefixes.
std::vector<std::string> messages_in(const std::string& body) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at + 5 <= body.size();) {
    std::size_t n = 0;
    for (int i = 1; i < 5; ++i)
      n = n * 256 + static_cast<unsigned char>(body[at + static_cast<std::size_t>(i)]);
    text m;
    EXPECT_TRUE(m.ParseFromString(body.substr(at + 5, n)));
    found.push_back(m.value());
    at += 5 + n;
  }
  return found;
}

class replaying : public attempts_fixture {
 protected:
  struct program {
    // Writes `count` messages of `bytes`; returns the number of messages that were accepted.
    static task<int> write_some(stream_call& call, int count, std::size_t bytes) {
      for (int i = 0; i < count; ++i) {
        const text m = text_of(std::to_string(i) + std::string(bytes, '.'));
        const status sent = co_await call.write(m);
        if (!sent.ok()) co_return i;
      }
      co_return count;
    }
    // Writes three messages, and four after a pause; returns what the reply reports about them.
    static task<std::string> talk_with_a_pause(configured_channel& to, duration pause) {
      stream_call call(to, "/s/m", call_options());
      co_await write_some(call, 3, 100);
      co_await sleep_for(pause);  // sleeps on purpose: virtual time
      co_await write_some(call, 4, 100);
      co_await call.writes_done();
      const auto reply = (co_await call.next()).value();
      const status outcome = co_await call.finish();
      EXPECT_EQ(outcome, status());
      co_return reply ? reply->value() : "none";
    }
  };
};

TEST_F(replaying, WhatWasWrittenIsSentAgainInOrder) {
  retry(3);
  server_.script = [](scripted_request& r) {
    r.when_complete = [](scripted_request& c) {
      if (c.field("x-number") == "3") return c.reply("third");
      c.fail(status_code::unavailable);
    };
  };
  struct talk : program {
    static task<std::string> it(configured_channel& to) {
      stream_call call(to, "/s/m", call_options());
      co_await write_some(call, 5, 1000);
      co_await call.writes_done();
      const auto reply = (co_await call.next()).value();
      const status outcome = co_await call.finish();
      EXPECT_EQ(outcome, status());
      co_return reply ? reply->value() : "none";
    }
  };
  EXPECT_EQ(run(talk::it(calls_)), "third");
  ASSERT_EQ(server_.requests.size(), 3u);
  const auto sent = messages_in(server_.requests[2]->body);
  ASSERT_EQ(sent.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(sent[i].substr(0, 2), std::to_string(i) + ".");
}

// With and without a policy.
TEST_F(replaying, TheLastMessageAndTheEndAreOneFrame) {
  server_.script = [](scripted_request& r) {
    r.when_complete = [](scripted_request& c) { c.reply(std::to_string(c.pieces)); };
  };
  struct talk : program {
    static task<std::string> it(configured_channel& to, bool last) {
      stream_call call(to, "/s/m", call_options());
      co_await write_some(call, 1, 100);
      const text m = text_of("last");
      if (last) (co_await call.write_last(m)).throw_if_error();
      else (co_await call.write(m)).throw_if_error();
      if (!last) co_await call.writes_done();
      const auto reply = (co_await call.next()).value();
      co_return reply ? reply->value() : "none";
    }
  };
  EXPECT_EQ(run(talk::it(calls_, true)), "2");
  EXPECT_EQ(run(talk::it(calls_, false)), "3");
  retry(3);
  EXPECT_EQ(run(talk::it(calls_, true)), "2");
  EXPECT_EQ(run(talk::it(calls_, false)), "3");
}

TEST_F(replaying, AMessageThatIsWrittenInAPauseGoesWithTheNextAttempt) {
  retry(2);
  server_.script = [](scripted_request& r) {
    if (r.field("x-number") == "1") return r.fail(status_code::unavailable, "1000");
    r.when_complete = [](scripted_request& c) { c.reply(std::to_string(messages_in(c.body).size())); };
  };
  struct talk : program {
    static task<std::string> it(configured_channel& to) {
      stream_call call(to, "/s/m", call_options());
      co_await write_some(call, 2, 10);
      co_await sleep_for(500ms);  // sleeps on purpose: virtual time
      co_await write_some(call, 3, 10);
      co_await call.writes_done();
      const auto reply = (co_await call.next()).value();
      co_return reply ? reply->value() : "none";
    }
  };
  EXPECT_EQ(run(talk::it(calls_)), "5");
}

TEST_F(replaying, ACallThatHasWrittenTooMuchIsCommittedAndForgetsWhatItWrote) {
  retry(4);
  server_.script = [](scripted_request& r) {
    r.when_complete = [](scripted_request& c) { c.fail(status_code::unavailable); };
  };
  struct talk : program {
    static task<status> it(configured_channel& to, int messages) {
      stream_call call(to, "/s/m", call_options());
      co_await write_some(call, messages, 10'000);
      co_return co_await call.finish();
    }
  };
  EXPECT_EQ(run(talk::it(calls_, 25)).code(), status_code::unavailable);
  EXPECT_EQ(server_.requests.size(), 4u);
  EXPECT_EQ(run(talk::it(calls_, 40)).code(), status_code::unavailable);
  EXPECT_EQ(server_.requests.size(), 5u);
  EXPECT_EQ(messages_in(server_.requests[4]->body).size(), 40u);
}

TEST_F(replaying, AWriterWaitsWhileNoAttemptHasRoom) {
  retry(4);
  server_.limits.initial_window_bytes = 65'535;
  server_.script = [](scripted_request& r) { r.reads = false; };
  struct talk : program {
    static task<int> it(configured_channel& to) {
      stream_call call(to, "/s/m", call_options());
      int written = 0;
      scope work{co_await coro::this_environment()};
      struct writer {
        static task<> go(stream_call& c, int& count) {
          for (;; ++count) {
            const text m = text_of(std::string(10'000, '.'));
            const status sent = co_await c.write(m);
            if (!sent.ok()) co_return;
          }
        }
      };
      work.spawn(writer::go(call, written));
      co_await sleep_for(10s);
      const int taken = written;
      call.cancel();
      co_await work.join();
      co_return taken;
    }
  };
  // The window's 64 KiB, and 64 KiB of queued data beyond it.
  const int taken = run(talk::it(calls_));
  EXPECT_GE(taken, 6);
  EXPECT_LE(taken, 14);
}

TEST_F(replaying, AWriterThatWaitsInAPauseGoesOnWithTheNextAttempt) {
  retry(3);
  server_.script = [](scripted_request& r) {
    if (r.field("x-number") == "1") return r.fail(status_code::unavailable, "2000");
    r.when_complete = [](scripted_request& c) { c.reply(std::to_string(messages_in(c.body).size())); };
  };
  struct talk : program {
    static task<std::string> it(configured_channel& to) {
      stream_call call(to, "/s/m", call_options());
      co_await write_some(call, 1, 1);
      co_await sleep_for(100ms);  // sleeps on purpose: virtual time; now it pauses
      co_await write_some(call, 59, 10'000);  // more than is kept
      co_await call.writes_done();
      const auto reply = (co_await call.next()).value();
      co_return reply ? reply->value() : "none";
    }
  };
  EXPECT_EQ(run(talk::it(calls_)), "60");
}

TEST_F(replaying, HedgesOfAStreamGetWhatWasWrittenBeforeAndAfterThem) {
  hedge(3, 100ms);
  server_.script = [](scripted_request& r) {
    r.when_complete = [](scripted_request& c) {
      if (c.field("x-number") == "2") c.reply(std::to_string(messages_in(c.body).size()));
    };
  };
  EXPECT_EQ(run(program::talk_with_a_pause(calls_, 150ms)), "7");  // by then the second has begun
  EXPECT_EQ(messages_in(server_.requests[0]->body).size(), 7u);
}

TEST_F(replaying, AWriterGoesOnAsFastAsTheFastestHedge) {
  hedge(2, 0ms);
  server_.limits.initial_window_bytes = 65'535;
  server_.script = [](scripted_request& r) { r.reads = r.field("x-number") == "2"; };
  struct talk : program {
    static task<int> it(configured_channel& to) {
      stream_call call(to, "/s/m", call_options());
      const int written = co_await write_some(call, 25, 10'000);  // below what is kept
      call.cancel();
      co_return written;
    }
  };
  EXPECT_EQ(run(talk::it(calls_)), 25);
}

TEST_F(replaying, WhatIsWrittenAfterCommitmentGoesToThatAttemptAlone) {
  hedge(3, 100ms);
  server_.script = [](scripted_request& r) {
    if (r.field("x-number") == "2") r.send_headers();
    r.when_complete = [](scripted_request& c) {
      c.send_message(std::to_string(messages_in(c.body).size()));
      c.end(status_code::ok);
    };
  };
  EXPECT_EQ(run(program::talk_with_a_pause(calls_, 200ms)), "7");  // by then the second has answered
  EXPECT_EQ(messages_in(server_.requests[0]->body).size(), 3u);
  EXPECT_TRUE(server_.requests[0]->cancelled);
}

// The second attempt has less unsent data than blocks a writer, more than wakes one, and no piece left.
TEST_F(replaying, AWriterIsNotForgottenWhenItsAttemptTakesTheLastPieceFromTheBuffer) {
  retry(2);
  server_.limits.initial_window_bytes = 65'535;
  struct talk : program {
    static task<> write_last(stream_call& call, bool& done) {
      const text m = text_of(std::string(50'000, '.'));
      const status sent = co_await call.write(m);
      EXPECT_EQ(sent, status());
      done = true;
    }
    static task<> it(configured_channel& to, scripted_server& server) {
      stream_call call(to, "/s/m", within(60s));
      co_await write_some(call, 1, 60'000);
      co_await write_some(call, 1, 70'000);
      co_await sleep_for(100ms);  // sleeps on purpose: virtual time; the first attempt has sent them
      server.requests[0]->fail(status_code::unavailable, "1000");
      co_await sleep_for(100ms);
      bool done = false;
      scope work{co_await coro::this_environment()};
      work.spawn(write_last(call, done));
      co_await sleep_for(100ms);
      EXPECT_FALSE(done) << "more than is too much waits for the next attempt";
      co_await work.join();
      EXPECT_EQ(server.requests.size(), 2u);
    }
  };
  run(talk::it(calls_, server_));
}

}  // namespace
}  // namespace coracle::testing_support::retry_replay_test
