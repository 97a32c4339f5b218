#include "support/echo_fixture.hpp"

namespace coracle::testing_support::stream_test {
namespace {

using namespace std::chrono_literals;

class streams : public echo_fixture {};
INSTANTIATE_TEST_SUITE_P(Everywhere, streams, every_world_and_link, echo_fixture::case_name);
// What a loop passes to the kernel for a socket.
class streams_over_tcp : public echo_fixture {};
INSTANTIATE_TEST_SUITE_P(OnKernels, streams_over_tcp,
                         ::testing::Combine(kernel_kinds, ::testing::Values(link_kind::tcp)),
                         echo_fixture::case_name);

TEST_P(streams, CollectManyRequestsIntoOneReply) {
  struct program {
    static task<result<echo::Text>> upload(echo_stub s, int messages) {
      auto call = s.Collect();
      const echo::Text one = text("abc");
      for (int i = 0; i < messages; ++i) (co_await call.write(one)).throw_if_error();
      co_return co_await call.finish();
    }
  };
  for (const int messages : {0, 1, 2, 10'000}) {
    const auto reply = run(program::upload(stub(), messages));
    ASSERT_EQ(reply.status(), status());
    EXPECT_EQ(reply->count(), messages);
    EXPECT_EQ(reply->text().size(), static_cast<std::size_t>(messages) * 3);
  }
}

TEST_P(streams, GiveManyRepliesInOrder) {
  struct program {
    static task<status> download(echo_stub s, int messages) {
      const echo::Text request = text("abc", messages);
      auto call = s.Repeat(request);
      int expected = 0;
      while (auto one = (co_await call.next()).value()) EXPECT_EQ(one->count(), expected++);
      EXPECT_EQ(expected, messages);
      co_return co_await call.finish();
    }
  };
  for (const int messages : {0, 1, 2, 10'000}) EXPECT_EQ(run(program::download(stub(), messages)), status());
}

TEST_P(streams, GiveAStatusThatIsNotOkAfterTheReplies) {
  struct program {
    static task<status> download(echo_stub s) {
      const echo::Text request = text("fail", 3);
      auto call = s.Repeat(request);
      int seen = 0;
      status caught;
      try {
        while (auto one = (co_await call.next()).value()) ++seen;
      } catch (const status_error& e) {
        caught = e.status();
      }
      EXPECT_EQ(seen, 3);
      const status last = co_await call.finish();
      EXPECT_EQ(last, caught);
      co_return caught;
    }
  };
  EXPECT_EQ(run(program::download(stub())), status::not_found("after the replies"));
}

TEST_P(streams, PlayPingPong) {
  struct program {
    static task<status> play(echo_stub s) {
      auto call = s.Chat();
      for (int i = 0; i < 500; ++i) {
        const echo::Text ball = text("ball", i);
        (co_await call.write(ball)).throw_if_error();
        const auto back = (co_await call.next()).value();
        EXPECT_TRUE(back && back->count() == i);
      }
      co_await call.writes_done();
      const auto nothing = (co_await call.next()).value();
      EXPECT_FALSE(nothing);
      co_return co_await call.finish();
    }
  };
  EXPECT_EQ(run(program::play(stub())), status());
}

TEST_P(streams, ReadAndWriteAtOnce) {
  struct program {
    static task<> write_all(bidi_call<echo::Text, echo::Text>& call, int messages) {
      echo::Text one = text(std::string(1000, 'x'));
      for (int i = 0; i < messages; ++i) {
        one.set_count(i);
        (co_await call.write(one)).throw_if_error();
      }
      co_await call.writes_done();
    }
    static task<int> both(echo_stub s, int messages) {
      auto call = s.Chat();
      scope work{co_await coro::this_environment()};
      work.spawn(write_all(call, messages));
      int got = 0;
      echo::Text one;
      while ((co_await call.read(one)).value()) EXPECT_EQ(one.count(), got++);
      co_await work.join();
      co_return got;
    }
  };
  EXPECT_EQ(run(program::both(stub(), 5000)), 5000);
}

// More than any window, from a server that writes to a client that does not read yet.
TEST_P(streams, HoldAWriterBackUntilTheReaderReads) {
  struct program {
    static task<int> late(echo_stub s) {
      const echo::Text request = text(std::string(100'000, 'x'), 200);
      auto call = s.Repeat(request);
      int got = 0;
      while (auto one = (co_await call.next()).value()) {
        if (got++ == 0) co_await sleep_for(50ms);
      }
      co_return got;
    }
  };
  EXPECT_EQ(run(program::late(stub())), 200);
}

TEST_P(streams, CarryAMessageLargerThanTheWindow) {
  struct program {
    static task<std::size_t> big(echo_stub s) {
      auto call = s.Chat();
      const echo::Text one = text(std::string(3'900'000, 'x'));
      (co_await call.write(one)).throw_if_error();
      const auto back = (co_await call.next()).value();
      const status end = co_await call.finish();
      EXPECT_EQ(end, status());
      co_return back ? back->text().size() : 0;
    }
  };
  EXPECT_EQ(run(program::big(stub())), 3'900'000u);
}

TEST_P(streams, NeverShowAHandlerACleanEndWhenTheUploadIsCut) {
  struct program {
    static task<> cut(echo_stub s) {
      auto call = s.Collect();
      const echo::Text one = text("abc");
      (co_await call.write(one)).throw_if_error();
      co_await sleep_for(20ms);
      call.cancel();
      const auto reply = co_await call.finish();
      EXPECT_EQ(reply.status().code(), status_code::cancelled);
    }
  };
  run(program::cut(stub()));
  EXPECT_EQ(sync_wait(stub().Say(text("behind it"))).status(), status());
  EXPECT_EQ(service_.collected, 0);
}

TEST_P(streams, CancelledBeforeTheyBeginReachNoServer) {
  struct program {
    static task<> use(echo_stub s) {
      auto call = s.Collect();
      call.cancel();
      const echo::Text one = text("abc");
      const status outcome = co_await call.write(one);
      EXPECT_EQ(outcome.code(), status_code::cancelled);
      const auto reply = co_await call.finish();
      EXPECT_EQ(reply.status().code(), status_code::cancelled);
    }
  };
  run(program::use(stub()));
  EXPECT_EQ(sync_wait(stub().Say(text("behind it"))).status(), status());
  EXPECT_EQ(service_.collected, 0);
}

TEST_P(streams, CanBeDroppedAtAnyPoint) {
  struct program {
    static task<> drop(echo_stub s) {
      {
        auto never_begun = s.Chat();
      }
      {
        auto cancelled_before = s.Chat();
        cancelled_before.cancel();
      }
      {
        auto begun = s.Chat();
        const echo::Text one = text("abc");
        (co_await begun.write(one)).throw_if_error();
      }
      {
        const echo::Text request = text("abc", 1'000'000);
        auto half_read = s.Repeat(request);
        const auto one = (co_await half_read.next()).value();
        EXPECT_TRUE(one);
      }
    }
  };
  run(program::drop(stub()));
  EXPECT_EQ(sync_wait(stub().Say(text("behind it"))).status(), status());
}

TEST_P(streams, WorkFromAPlainThread) {
  auto call = stub().Chat();
  for (int i = 0; i < 10; ++i) {
    sync_wait(call.write(text("ball", i))).throw_if_error();
    const auto back = sync_wait(call.next()).value();
    ASSERT_TRUE(back);
    EXPECT_EQ(back->count(), i);
  }
  EXPECT_EQ(sync_wait(call.finish()), status());
}

// The location reported with a misuse is that of the running coroutine.
TEST_P(streams, AHandlerThatGoesOnAfterAYieldIsTheOneNoted) {
  struct yielding final : echo_service {
    int yielded_at = 0;
    int seen = 0;
    replies<echo::Text> Repeat(server_context&, const echo::Text& request) override {
      yielded_at = __LINE__ + 1;
      co_yield request;
      seen = static_cast<int>(base::last_await_site.line());
      co_return status();
    }
  };
  struct program {
    static task<status> call(echo_stub s) {
      const echo::Text request = text("x");
      auto c = s.Repeat(request);
      co_return co_await c.finish();
    }
  };
  yielding handler;
  server_.emplace(rt());
  server_->add(handler);
  link();
  EXPECT_EQ(run(program::call(stub())), status());
  EXPECT_EQ(handler.seen, handler.yielded_at);
  channel_.reset();
  server_.reset();  // before its service
}

TEST_P(streams, TheLastMessageEndsTheClientsSide) {
  struct program {
    static task<result<echo::Text>> collect(echo_stub s) {
      const echo::Text one = text("a");
      const echo::Text two = text("b");
      auto c = s.Collect();
      (co_await c.write(one)).throw_if_error();
      (co_await c.write_last(two)).throw_if_error();
      const status late = co_await c.write(one);
      EXPECT_FALSE(late.ok());
      co_return co_await c.finish();
    }
    static task<> chat(echo_stub s) {
      const echo::Text one = text("a");
      auto c = s.Chat();
      (co_await c.write_last(one)).throw_if_error();
      const auto back = (co_await c.next()).value();
      EXPECT_TRUE(back && back->text() == "a");
      const auto end = (co_await c.next()).value();
      EXPECT_FALSE(end);
    }
  };
  const auto all = run(program::collect(stub()));
  ASSERT_EQ(all.status(), status());
  EXPECT_EQ(all->text(), "ab");
  run(program::chat(stub()));
}

TEST_P(streams, ACallCanBeginWithoutAMessage) {
  struct early final : echo_service {
    bool began = false;
    replies<echo::Text> Chat(server_context& context, reader<echo::Text> texts) override {
      began = true;
      context.initial_metadata().add("x-early", "1");
      context.send_initial_metadata();
      context.trailing_metadata().add("x-late", "1");
      echo::Text one;
      while (co_await texts.read(one)) co_yield one;
      co_return status();
    }
  };
  struct program {
    static task<> chat(echo_stub s, const early& handler) {
      auto c = s.Chat();
      co_await c.start();
      while (!handler.began) co_await sleep_for(std::chrono::milliseconds(1));
      const status outcome = co_await c.finish();
      EXPECT_EQ(outcome, status());
      EXPECT_EQ(c.initial_metadata().find("x-early"), "1");
      EXPECT_EQ(c.trailing_metadata().find("x-late"), "1");
    }
    static task<status> cancel(echo_stub s) {
      auto c = s.Collect();
      co_await c.start();
      c.cancel();
      const auto reply = co_await c.finish();
      co_return reply.status();
    }
  };
  early handler;
  server_.emplace(rt());
  server_->add(handler);
  link();
  run(program::chat(stub(), handler));
  EXPECT_EQ(run(program::cancel(stub())).code(), status_code::cancelled);
  channel_.reset();
  server_.reset();  // before its service
}

// A writer whose messages all find room at once does not block its loop: ready tasks continue after each
// pump.
TEST_P(streams, OthersGoOnAfterAHundredSmallWrites) {
  struct program {
    static task<> write(echo_stub s, int n, int& written) {
      const echo::Text small = text("0123456789");
      auto c = s.Collect();
      for (; written < n; ++written) (co_await c.write(small)).throw_if_error();
      EXPECT_EQ((co_await c.finish()).status(), status());
    }
    static task<int> look(const int& written) { co_return written; }
    static task<int> both(echo_stub s) {
      int written = 0;
      co_await write(s, 1, written);  // connected from here on
      written = 0;
      co_return std::get<1>(co_await when_all(write(s, 2000, written), look(written)));
    }
  };
  EXPECT_LE(run(program::both(stub())), 100);
}

// What is written in one iteration leaves in one piece, so that small messages need no pump of their own.
TEST_P(streams_over_tcp, SmallWritesOfATurnLeaveTogether) {
  struct program {
    static task<loop_counters> write(echo_stub s, int n) {
      const echo::Text small = text("0123456789");
      auto c = s.Collect();
      (co_await c.write(small)).throw_if_error();  // connected from here on
      co_await sleep_for(std::chrono::milliseconds(20));
      const loop_counters before = loop::current()->stats();
      for (int i = 0; i < n; ++i) (co_await c.write(small)).throw_if_error();
      const auto reply = co_await c.finish();
      EXPECT_EQ(reply.status(), status());
      EXPECT_EQ(reply->count(), n + 1);
      co_return loop::current()->stats() - before;
    }
  };
  const loop_counters one = run(program::write(stub(), 1));
  const loop_counters hundred = run(program::write(stub(), 100));
  RecordProperty("submissions_of_1", static_cast<int>(one.submissions));
  RecordProperty("submissions_of_100", static_cast<int>(hundred.submissions));
  // The server on the same loop reads and replies: a few operations, not one per message.
  EXPECT_LT(hundred.submissions, one.submissions + 20);
  EXPECT_LT(hundred.system_calls, one.system_calls + 20);
}

}  // namespace
}  // namespace coracle::testing_support::stream_test
