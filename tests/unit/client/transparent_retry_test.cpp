// Transparent retries (gRFC A6): an attempt that the server certainly has not processed is repeated, with or
// without a policy.
#include "unit/client/attempts_fixture.hpp"

#include <cerrno>
#include <span>

namespace coracle::testing_support::transparent_retry_test {
namespace {

// Breaks immediately when the test says so: data that was not passed to it by then is not sent.
class breakable final : public net::duplex, private net::duplex_sink {
 public:
  explicit breakable(std::unique_ptr<net::duplex> sound) : inner_(std::move(sound)) {}
  void snap() {
    broken_ = true;
    sink_->receive_ended(-ECONNRESET);
  }
  void start(net::duplex_sink& sink) override {
    sink_ = &sink;
    inner_->start(*this);
  }
  void pause_receive() noexcept override { inner_->pause_receive(); }
  void resume_receive() noexcept override { inner_->resume_receive(); }
  using duplex::send;
  bool send(std::span<const piece> pieces) noexcept override { return !broken_ && inner_->send(pieces); }
  [[nodiscard]] bool sending() const noexcept override { return inner_->sending(); }
  void shutdown_send() noexcept override { inner_->shutdown_send(); }
  void close(bool abort) noexcept override { inner_->close(abort); }
  [[nodiscard]] const net::address& peer_address() const noexcept override { return inner_->peer_address(); }
  [[nodiscard]] const net::address& local_address() const noexcept override {
    return inner_->local_address();
  }

 private:
  void received(bytes_view bytes) noexcept override {
    if (!broken_) sink_->received(bytes);
  }
  void receive_ended(std::int64_t result) noexcept override {
    if (!broken_) sink_->receive_ended(result);
  }
  void sent(std::int64_t result) noexcept override { sink_->sent(result); }
  void closed() noexcept override { sink_->closed(); }
  std::unique_ptr<net::duplex> inner_;
  net::duplex_sink* sink_ = nullptr;
  bool broken_ = false;
};

class breakable_way final : public transport::connector {
 public:
  explicit breakable_way(std::shared_ptr<transport::connector> sound) : sound_(std::move(sound)) {}
  task<result<std::unique_ptr<net::duplex>>> make_duplex(loop& on) override {
    auto made = co_await sound_->make_duplex(on);
    if (!made) co_return made.status();
    auto line = std::make_unique<breakable>(*std::move(made));
    last = line.get();
    std::unique_ptr<net::duplex> given = std::move(line);
    co_return std::move(given);
  }
  [[nodiscard]] std::string authority() const override { return sound_->authority(); }
  breakable* last = nullptr;

 private:
  std::shared_ptr<transport::connector> sound_;
};

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
  EXPECT_EQ(say("x").outcome.code(), status_code::unavailable);
  EXPECT_EQ(server_.requests.size(), 2u);
}

TEST_F(transparently, ACallBehindAGoawayGoesToTheNextConnection) {
  server_.script = [this](scripted_request& r) {
    if (r.field("x-number") == "1") server_.go_away();
    r.when_complete = [](scripted_request& c) { c.reply("well"); };
  };
  struct program {
    // Calls that begin while the GOAWAY is in flight.
    static task<int> many(configured_channel& to) {
      scope work{co_await coro::this_environment()};
      int well = 0;
      struct one {
        static task<> call(configured_channel& through, int& count) {
          const answer a = co_await say_through(through, "x", call_options());
          if (a.outcome.ok()) ++count;
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
      const auto reply = (co_await call.next()).value();
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
          const status sent = co_await c.write(m);
          EXPECT_EQ(sent, status());
          co_await c.writes_done();
        }
      };
      work.spawn(later::write(call));
      const auto reply = co_await call.next();
      EXPECT_TRUE(reply.ok() && *reply && (*reply)->value() == "late");
      const status outcome = co_await call.finish();
      co_await work.join();
      co_return outcome;
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
      (void)co_await call.write(m);
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

static task<status> call_with_moved(const channel& by, std::size_t bytes) {
  owning_unary_call<text, text> call(by, "/s/m", text_of(std::string(bytes, 'x')), within(60s));
  const auto reply = co_await call;
  co_return reply.status();
}

TEST_F(transparently, ARequestThatWasMovedInIsSentAgain) {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{100} << 10, std::size_t{200} << 10}) {
    server_.script = [bytes](scripted_request& r) {
      if (std::stoi(r.field("x-number")) % 2 == 1) return r.refuse();
      r.when_complete = [bytes](scripted_request& c) {
        if (c.body.size() > bytes) c.reply("well");
        else c.fail(status_code::data_loss);
      };
    };
    EXPECT_EQ(run(call_with_moved(calls_, bytes)), status()) << bytes;
  }
}

TEST_F(transparently, AVeryLargeRequestThatWasMovedInIsNotSentAgain) {
  server_.script = [](scripted_request& r) { r.refuse(); };
  EXPECT_EQ(run(call_with_moved(calls_, std::size_t{300} << 10)).code(), status_code::unavailable);
  EXPECT_EQ(server_.requests.size(), 1u);
}

// after: the time that the request headers had to leave.
static task<status> lose_the_connection(channel& by, breakable_way& way, duration after) {
  const text request = text_of("x");
  const auto first = co_await unary_call<text>(by, "/s/m", request, within(60s));
  EXPECT_EQ(first.status(), status());
  bidi_call<text, text> call(by, "/s/m", within(60s));
  co_await call.start();
  if (after > duration::zero()) co_await sleep_for(after);
  way.last->snap();
  co_return co_await call.finish();
}

TEST_F(transparently, ACallThatNeverLeftALostConnectionIsMadeAgain) {
  server_.script = [](scripted_request& r) {
    r.when_complete = [](scripted_request& c) { c.reply("well"); };
  };
  const auto way = std::make_shared<breakable_way>(server_.way());
  channel through(host_, way);
  EXPECT_EQ(run(lose_the_connection(through, *way, 0ms)), status());
  EXPECT_EQ(server_.requests.size(), 2u);
}

TEST_F(transparently, ACallThatMayHaveBeenSeenIsNotMadeAgainWhenItsConnectionIsLost) {
  server_.script = [](scripted_request& r) {
    r.when_complete = [](scripted_request& c) { c.reply("well"); };
  };
  const auto way = std::make_shared<breakable_way>(server_.way());
  channel through(host_, way);
  const status outcome = run(lose_the_connection(through, *way, 1ms));
  EXPECT_EQ(outcome.code(), status_code::unavailable);
  EXPECT_EQ(server_.requests.size(), 2u);
}

}  // namespace
}  // namespace coracle::testing_support::transparent_retry_test
