// The memory of a server's messages: what handlers use, what the quota counts, what a steady call allocates.
#include "support/echo_fixture.hpp"
#include "support/malloc_counter.hpp"

#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/server/memory_quota.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing_support::message_memory_test {
namespace {

using namespace std::chrono_literals;

constexpr bool reuses = server_internal::reuses_messages;

class message_memory : public echo_fixture {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
  }
  void serve(service& s, const server_options& options = {}) {
    served_ = &s;
    make_server(options);
  }
  [[nodiscard]] service& served() noexcept override { return *served_; }
  static task<std::string> say(echo_stub s, std::string content) {
    const echo::Text request = text(std::move(content));
    const auto reply = co_await s.Say(request);
    if (!reply) co_return reply.status().to_string();
    co_return reply->text();
  }

 private:
  service* served_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(OverTcp, message_memory, every_world_over_tcp, echo_fixture::case_name);

class taking final : public echo_service {
 public:
  std::vector<echo::Text> taken;
  const void* address = nullptr;
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    if (request.text() == "copy") {
      const echo::Text copy = request;
      taken.push_back(context.take(copy));
    }
    echo::Text&& own = context.take(request);
    EXPECT_EQ(&own, &request);
    taken.push_back(std::move(own));
    EXPECT_TRUE(request.text().empty());
    co_return taken.back();
  }
  reply<echo::Text> Collect(server_context& context, reader<echo::Text> texts) override {
    const auto first = co_await texts.next();
    taken.push_back(context.take(*first));
    co_return echo::Text();
  }
  replies<echo::Text> Repeat(server_context& context, const echo::Text& request) override {
    taken.push_back(context.take(request));
    co_yield taken.back();
    co_return status();
  }
};

TEST_P(message_memory, LetsAHandlerTakeItsRequest) {
  taking service;
  serve(service);
  const std::string long_text(500, 'x');
  for (int i = 0; i < 50; ++i) {
    const std::string text = std::to_string(i) + long_text;
    EXPECT_EQ(run(say(stub(), text)), text);
    EXPECT_EQ(service.taken.back().text(), text);
  }
  EXPECT_EQ(service.taken.front().text(), "0" + long_text) << "what was taken is the handler's";
  struct program {
    static task<std::string> repeat(echo_stub s) {
      const echo::Text request = text("repeated");
      auto call = s.Repeat(request);
      const auto reply = (co_await call.next()).value();
      co_return reply ? reply->text() : std::string("nothing");
    }
  };
  EXPECT_EQ(run(program::repeat(stub())), "repeated");
}

TEST_P(message_memory, LetsAHandlerTakeNoOtherMessage) {
  taking service;
  serve(service);
  const std::string reason = run(say(stub(), "copy"));
  EXPECT_EQ(reason.find("UNKNOWN"), 0u) << reason;
  struct program {
    static task<status> collect(echo_stub s) {
      auto call = s.Collect();
      const echo::Text one = text("one");
      (co_await call.write(one)).throw_if_error();
      const auto reply = co_await call.finish();
      co_return reply.status();
    }
  };
  EXPECT_EQ(run(program::collect(stub())).code(), status_code::unknown);
  EXPECT_TRUE(service.taken.empty());
}

// A handler that has taken its request may enlarge it without limit: that is detected immediately.
class growing final : public echo_service {
 public:
  std::size_t seen = 0;
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    seen = std::max(seen, request.text().capacity());
    if (request.text() == "grows") context.take(request).mutable_text()->resize(1'000'000);
    co_return echo::Text();
  }
};

TEST_P(message_memory, KeepsNoRequestThatItsHandlerHasMadeLarge) {
  growing service;
  serve(service);
  for (const char* text : {"small", "grows", "small"}) run(say(stub(), text));
  EXPECT_LT(service.seen, 1'000'000u);
}

class in_place_echo final : public echo_service {
 public:
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    auto& reply = context.make_reply<echo::Text>();
    reply.set_text(request.text());
    co_return &reply;
  }
};

TEST_P(message_memory, CountsInTheQuotaAndIsFreedWhenIdle) {
  memory_quota quota(64u << 20);
  in_place_echo service;
  server_options options;
  options.memory = quota;
  serve(service, options);
  EXPECT_EQ(run(say(stub(), "hello")), "hello");
  struct program {
    static task<> wait(duration d) { co_await sleep_for(d); }
  };
  const std::size_t busy = quota.used_bytes();
  if (rt().at(0).backend_name() == "sim") {  // whose minutes are shortened
    run(program::wait(60s));
    const std::size_t at_rest = quota.used_bytes();
    EXPECT_EQ(busy >= at_rest + 2 * server_internal::message_store::object_bytes_min, reuses)
        << busy << " " << at_rest;
    EXPECT_EQ(run(say(stub(), "again")), "again");
  }
  TearDown();
  EXPECT_EQ(quota.used_bytes(), 0u);
}

// Of the server only, on a thread of its own.
class allocating final : public echo_service {
 public:
  bool in_place = false;
  std::vector<std::size_t> before;  // at the begin of each handler
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    before.push_back(test::malloc_count);
    if (!in_place) {
      echo::Text reply;
      reply.set_text(request.text());
      co_return reply;
    }
    auto& reply = context.make_reply<echo::Text>();
    reply.set_text(request.text());
    co_return &reply;
  }
};

// On real kernels: the hosts of a simulation share one thread, so that the server's share cannot be told
// apart.
class message_allocations : public message_memory {};
INSTANTIATE_TEST_SUITE_P(OverTcp, message_allocations,
                         ::testing::Combine(kernel_kinds, ::testing::Values(link_kind::tcp)),
                         echo_fixture::case_name);

TEST_P(message_allocations, AllocateTwiceForAReplyByValueAndNeverForOneInPlace) {
  if (coro::frame_pool::from_heap())
    GTEST_SKIP() << "sanitizer builds take frames from the heap, and have an allocator of their own";
  constexpr std::size_t calls_made = 100;
  allocating service;
  service.before.reserve(4 * calls_made);
  any_world clients(std::get<0>(GetParam()));
  serve(service);
  channel_.emplace(*clients.get(), "127.0.0.1:" + std::to_string(server_->port()), insecure());
  server_->start();
  struct program {
    static task<> call(echo_stub s) {
      const echo::Text request = text(std::string(100, 'x'));
      for (std::size_t i = 0; i < 2 * calls_made; ++i) {
        const auto reply = co_await s.Say(request);
        EXPECT_EQ(reply->text(), request.text());
      }
    }
  };
  for (const bool in_place : {false, true}) {
    service.in_place = in_place;
    service.before.clear();
    sync_wait(*clients.get(), clients.get()->at(0), program::call(stub()));
    ASSERT_EQ(service.before.size(), 2 * calls_made);
    const std::size_t taken = service.before.back() - service.before[calls_made - 1];
    const std::size_t of_reply = in_place && reuses ? 0 : 2;
    const std::size_t of_request = reuses ? 0 : 2;
    EXPECT_EQ(taken, calls_made * (of_reply + of_request)) << (in_place ? "in place" : "by value");
  }
  channel_.reset();
  server_.reset();
}

}  // namespace
}  // namespace coracle::testing_support::message_memory_test
