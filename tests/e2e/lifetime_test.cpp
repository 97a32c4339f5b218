// Lifetimes: handlers that outlive their connections, servers that are destroyed during requests from others,
// replies that outlast their readers.
#include "support/echo_fixture.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/runtime/sim.hpp"

#include <memory>
#include <thread>
#include <vector>

namespace coracle::testing_support::lifetime_test {
namespace {

using namespace std::chrono_literals;

// Continues for a while after a stop request, and then asks for its client's address, and how that called it.
class stubborn_service final : public echo_service {
 public:
  std::string peer;
  std::string authority;
  bool waiting = false;

  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    waiting = true;
    try {
      co_await sleep_for(1h);
    } catch (const coro::cancelled&) {
    }
    scope unstoppable;
    unstoppable.spawn(rest());
    co_await unstoppable.join();
    peer = context.peer().to_string();
    authority = context.authority();
    co_return request;
  }
  // Replies with more than a window before it has read anything.
  reply<echo::Text> Collect(server_context&, reader<echo::Text>) override {
    echo::Text large;
    large.set_text(std::string(3'000'000, 'x'));
    return large;
  }

 private:
  static task<> rest() { co_await sleep_for(50ms); }
};

class lifetime : public echo_fixture {
 protected:
  void make_stubborn_server() {
    channel_.reset();
    server_.emplace(rt());
    server_->add(stubborn_);
    link();
  }
  stubborn_service stubborn_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, lifetime, every_world_and_link, echo_fixture::case_name);

TEST_P(lifetime, AHandlerMayAskForItsPeerWhenTheConnectionIsGone) {
  make_stubborn_server();
  struct program {
    static task<> call(echo_stub s) {
      const echo::Text request;
      const auto reply = co_await s.Say(request);
      EXPECT_EQ(reply.status().code(), status_code::unavailable);
    }
    static task<> lose(echo_stub s, stubborn_service& service, channel c) {
      scope work{co_await coro::this_environment()};
      work.spawn(call(s));
      while (!service.waiting) co_await sleep_for(1ms);
      c.close();
      co_await work.join();
      while (service.peer.empty()) co_await sleep_for(1ms);
    }
  };
  run(program::lose(stub(), stubborn_, *channel_));
  const bool has_name = stubborn_.peer != "unix:" && stubborn_.peer != "(none)";
  EXPECT_EQ(has_name, std::get<1>(GetParam()) == link_kind::tcp) << stubborn_.peer;
  if (std::get<1>(GetParam()) == link_kind::tcp) {
    EXPECT_EQ(stubborn_.authority, address_);
  }
}

TEST_P(lifetime, AReplyLargerThanTheWindowMayComeBeforeItIsAskedFor) {
  make_stubborn_server();
  struct program {
    static task<result<echo::Text>> early(echo_stub s) {
      const call_options limit = within(5s);
      auto call = s.Collect(limit);
      const echo::Text one = text("abc");
      (co_await call.write(one)).throw_if_error();
      co_await sleep_for(50ms);
      co_return co_await call.finish();
    }
  };
  const auto reply = run(program::early(stub()));
  ASSERT_EQ(reply.status(), status());
  EXPECT_EQ(reply->text().size(), 3'000'000u);
}

TEST_P(lifetime, StopDrainsAServerThatWasStarted) {
  ASSERT_EQ(sync_wait(stub().Say(text("before"))).status(), status());
  server_->stop();
  struct program {
    static task<status> until_refused(echo_stub s) {
      const time_point limit = deadline_after(coro::this_executor().now(), 5s);
      status last;
      while (last.ok() && coro::this_executor().now() < limit) {
        const echo::Text request;
        const auto reply = co_await s.Say(request);
        last = reply.status();
        co_await sleep_for(1ms);
      }
      co_return last;
    }
  };
  EXPECT_EQ(run(program::until_refused(stub())).code(), status_code::unavailable);
}

// Replies twice to a client-streaming call.
class generous_service final : public service {
 public:
  replies<echo::Text> Collect(server_context&, reader<echo::Text>) {
    const echo::Text reply;
    co_yield reply;
    co_yield reply;
    co_return status();
  }
  [[nodiscard]] method_table methods() const noexcept override {
    static constexpr method rows[] = {bidi_method<&generous_service::Collect>("/echo.Echo/Collect")};
    return rows;
  }
};

TEST_P(lifetime, ASecondReplyBeforeTheFirstIsAskedForIsNoticed) {
  generous_service generous;
  channel_.reset();
  server_.emplace(rt());
  server_->add(generous);
  link();
  struct program {
    static task<status> ask(echo_stub s, duration pause) {
      auto call = s.Collect();
      const echo::Text one = text("abc");
      (co_await call.write(one)).throw_if_error();
      co_await sleep_for(pause);
      const auto reply = co_await call.finish();
      co_return reply.status();
    }
  };
  for (const duration pause : {0ms, 20ms})
    EXPECT_EQ(run(program::ask(stub(), pause)).code(), status_code::unimplemented);
  channel_.reset();
  server_.reset();  // before its service
}

// Continues for a long time after a stop request.
class deaf_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context&, const echo::Text& request) override {
    scope unstoppable;
    unstoppable.spawn(work());
    co_await unstoppable.join();
    co_return request;
  }

 private:
  static task<> work() { co_await sleep_for(1min); }
};

TEST(HandlersThatRunOnBehindTheirCalls, AreLimitedInNumberOfAConnectionAndOfALoop) {
  sim::world world(1);
  runtime& rt = world.host("host", 1);
  deaf_service deaf;
  server s(rt);
  s.add(deaf);
  struct program {
    static task<> give_up(echo_stub stub, int& refused) {
      const echo::Text request;
      const call_options limit = within(1ms);
      const auto reply = co_await stub.Say(request, limit);
      if (reply.status().code() == status_code::resource_exhausted) ++refused;
    }
    static task<int> many(echo_stub stub, int rounds) {
      int refused = 0;
      for (int i = 0; i < rounds; ++i) {
        scope work;
        for (int k = 0; k < 100; ++k) work.spawn(give_up(stub, refused));
        co_await work.join();
        co_await sleep_for(10ms);
      }
      co_return refused;
    }
    static task<status> later(echo_stub stub) {
      co_await sleep_for(2min);
      const echo::Text request;
      const auto reply = co_await stub.SayAtOnce(request);
      co_return reply.status();
    }
  };
  std::vector<std::unique_ptr<channel>> clients;
  const auto refused = [&](channel& c, int rounds) {
    return sync_wait(rt, rt.at(0), program::many(echo_stub(c), rounds));
  };
  for (int i = 0; i < 10; ++i) {
    clients.push_back(std::make_unique<channel>(rt, s.in_process()));
    EXPECT_EQ(refused(*clients.back(), 10), 0) << "others do not bear what one has done";
    EXPECT_EQ(refused(*clients.back(), 1), 100);
  }
  channel latecomer(rt, s.in_process());
  EXPECT_EQ(refused(latecomer, 1), 100) << "the loop has its 10,000";
  EXPECT_EQ(sync_wait(rt, rt.at(0), program::later(echo_stub(*clients.front()))), status());
}

// Server and channel refer to a destroyed runtime; a call and its handler were running.
TEST(ARuntime, MayGoBeforeItsServersAndChannels) {
  auto rt = std::make_unique<runtime>(1);
  echo_service service;
  server s(*rt);
  s.add(service);
  ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
  channel c(*rt, "127.0.0.1:" + std::to_string(s.port()), insecure());
  rt->start();
  struct program {
    static task<status> ask(echo_stub stub) {
      const echo::Text request;
      const auto reply = co_await stub.Say(request);
      co_return reply.status();
    }
    static task<> chat(echo_stub stub, event<>& answered) {
      auto call = stub.Chat();
      const echo::Text first;
      (co_await call.write(first)).throw_if_error();
      while ((co_await call.next()).value()) answered.set();
    }
    static task<> until(event<>& answered) { co_await answered; }
  };
  EXPECT_EQ(sync_wait(*rt, rt->at(0), program::ask(echo_stub(c))), status());
  event<> answered;
  rt->spawn(program::chat(echo_stub(c), answered));
  sync_wait(*rt, rt->at(0), program::until(answered));
  rt.reset();
  EXPECT_TRUE(answered.is_set());
}

// Clients on one loop connect to a server on another loop while that server is destroyed.
TEST(ServerInTheSameProcess, MayGoWhileOthersConnectToIt) {
  runtime clients;
  clients.start();
  echo_service service;
  struct program {
    static task<> ask(std::shared_ptr<transport::connector> to, std::atomic<bool>& asked) {
      for (int i = 0; i < 20; ++i) {
        channel c(loop::current()->owner(), to);
        const echo::Text request;
        const auto reply = co_await echo_stub(c).Say(request);
        EXPECT_TRUE(reply.ok() || reply.status().code() == status_code::unavailable) << reply.status();
        asked = true;
      }
    }
  };
  for (int i = 0; i < 30; ++i) {
    runtime rt;
    std::atomic<bool> asked = false;
    std::optional<server> s(rt);
    s->add(service);
    s->start();
    std::thread other([&, to = s->in_process()] { sync_wait(clients, program::ask(to, asked)); });
    while (!asked) std::this_thread::yield();
    s.reset();
    other.join();
  }
}

}  // namespace
}  // namespace coracle::testing_support::lifetime_test
