// Three servers in a row on hosts of their own: the client's deadline and baggage reach the last one without
// being mentioned.
#include "support/echo_service.hpp"

#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace coracle::testing_support::relay_test {
namespace {

using namespace std::chrono_literals;

// Forwards to the next server, or, as the last one, waits until it is stopped.
class link_of_the_row final : public echo_service {
 public:
  std::optional<echo_stub> onward;
  std::vector<duration> left;  // of the deadline, when the call came
  std::vector<std::string> tenants;
  int running = 0;
  int unwound = 0;

  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    const counted here(*this);
    left.push_back(context.deadline() - coro::this_executor().now());
    tenants.push_back(context.baggage().find("tenant").value_or(""));
    if (onward) {
      co_await sleep_for(10ms);
      co_return co_await onward->Say(request);
    }
    co_await sleep_for(24h);
    co_return request;
  }

 private:
  struct counted {
    explicit counted(link_of_the_row& l) : of(l) { ++of.running; }
    counted(const counted&) = delete;
    ~counted() {
      --of.running;
      ++of.unwound;
    }
    link_of_the_row& of;
  };
};

class row_of_three {
 public:
  row_of_three() : client_(world_.host("client")) {
    for (int i = 2; i >= 0; --i) {
      const std::string name = "hop" + std::to_string(i);
      runtime& host = world_.host(name);
      auto& server = servers_[static_cast<std::size_t>(i)].emplace(host);
      server.add(hops[static_cast<std::size_t>(i)]);
      EXPECT_EQ(server.listen("0.0.0.0:50051", insecure()), status());
      if (i == 0) continue;
      auto& channel = channels_[static_cast<std::size_t>(i)].emplace(
          world_.host("hop" + std::to_string(i - 1)), world_.address_of(name) + ":50051", insecure());
      hops[static_cast<std::size_t>(i - 1)].onward.emplace(channel);
    }
    channels_[0].emplace(client_, world_.address_of("hop0") + ":50051", insecure());
  }
  [[nodiscard]] echo_stub stub() { return echo_stub(*channels_[0]); }
  template <class T>
  T run(task<T> t) {
    return sync_wait(client_, std::move(t));
  }
  std::array<link_of_the_row, 3> hops;

 private:
  sim::world world_{1};
  runtime& client_;
  std::array<std::optional<server>, 3> servers_;
  std::array<std::optional<channel>, 3> channels_;
};

struct program {
  static task<status> say(echo_stub s, call_options options) {
    const echo::Text request;
    const auto reply = co_await s.Say(request, options);
    co_await sleep_for(1s);  // until the cancellation has reached all
    co_return reply.status();
  }
  static task<> keep(echo_stub s, status& out) {
    const echo::Text request;
    const auto reply = co_await s.Say(request);
    out = reply.status();
  }
  static task<status> cancel(echo_stub s, row_of_three& row) {
    status out;
    scope work(co_await coro::this_environment());
    work.spawn(keep(s, out));
    while (row.hops[2].running == 0) co_await sleep_for(1ms);
    work.request_stop();
    co_await work.join();
    co_await sleep_for(1s);
    co_return out;
  }
};

TEST(RowOfThree, TheDeadlineShrinksFromHopToHop) {
  row_of_three row;
  EXPECT_EQ(row.run(program::say(row.stub(), within(10s).add_metadata("baggage", "tenant=acme"))).code(),
            status_code::deadline_exceeded);
  duration before = 10s;
  for (const link_of_the_row& hop : row.hops) {
    ASSERT_EQ(hop.left.size(), 1u);
    EXPECT_LT(hop.left[0], before);
    EXPECT_GT(hop.left[0], duration(9s));
    EXPECT_EQ(hop.tenants[0], "acme");
    EXPECT_EQ(hop.running, 0);
    EXPECT_EQ(hop.unwound, 1);
    before = hop.left[0];
  }
}

TEST(RowOfThree, ACancelAtTheClientStopsAllThree) {
  row_of_three row;
  EXPECT_EQ(row.run(program::cancel(row.stub(), row)).code(), status_code::cancelled);
  for (const link_of_the_row& hop : row.hops) {
    EXPECT_EQ(hop.running, 0);
    EXPECT_EQ(hop.unwound, 1);
  }
}

}  // namespace
}  // namespace coracle::testing_support::relay_test
