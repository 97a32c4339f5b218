// balancer_fixture: a balancer in a simulated world, in a host that records what it publishes.
#pragma once

#include "client/balancing/balancer.hpp"
#include "client/call/call_attempt.hpp"
#include "client/call/call_queue.hpp"
#include "coracle/client/balancing.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "unit/client/scripted_servers.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coracle::client::test {

// Holds a stream open, as a call would.
class held_call final : public client::call_attempt {
 public:
  explicit held_call(const char* path = "/s/m") : call_attempt(terms_of_this_) { terms_of_this_.path = path; }
  ~held_call() { end(); }
  void attach(transport::exchange x, const client::call_target&) noexcept override { x_ = x; }
  void fail(const status& failure, client::refusal) noexcept override { failed = failure; }
  void on_headers(transport::header_source& f, transport::block_kind, bool) noexcept override {
    for (transport::field unused; f.next(unused);) {
    }
  }
  void on_data(bytes_view, bool) noexcept override {}
  void on_writable() noexcept override {}
  void on_reset(const transport::abnormal_end&) noexcept override { end(); }
  void add_metadata(const char* name, const char* value) { terms_of_this_.options.metadata.add(name, value); }
  void set_route(call_route r) { terms_of_this_.route = std::make_unique<const call_route>(std::move(r)); }
  void begin(transport::exchange x) {
    x_ = x;
    if (!x_.begin_headers()) return;
    for (const auto& [name, value] : {std::pair{":method", "POST"},
                                      {":scheme", "http"},
                                      {":path", terms().path.data()},
                                      {":authority", "a"}})
      x_.add_field(name, value);
    x_.end_headers(false);
  }
  void end() {
    if (x_) x_.release();
  }
  [[nodiscard]] bool open() const noexcept { return static_cast<bool>(x_); }
  status failed;

 private:
  client::call_terms terms_of_this_;
  transport::exchange x_;
};

// What a shard does for its balancer, with a record of it.
class recording_host final : public balancer_host, subchannel_owner {
 public:
  explicit recording_host(loop& owner_loop) : loop_(owner_loop) {
    params.by = net;
    params.name = "target";
  }
  ~recording_host() { EXPECT_TRUE(alive.empty()); }

  struct published {
    time_point when;
    connectivity state;
    std::string reason;
  };
  std::vector<published> record;
  int questions = 0;  // to the resolver
  connect_params params;
  std::uint32_t connections_max = 1;
  std::optional<std::string> health;
  std::shared_ptr<scripted_servers> net = std::make_shared<scripted_servers>();
  std::optional<balancing> configured;
  std::unique_ptr<balancer> policy;
  std::vector<std::unique_ptr<subchannel>> alive;

  // What a shard does with a policy and a list of servers.
  void use(const balancing& b) {
    if (!policy || configured->config().family() != b.config().family()) policy = b.config().make(*this);
    configured = b;
  }
  void update(const std::vector<endpoint>& servers) { policy->update(*configured, servers); }

  [[nodiscard]] connectivity state() const {
    return record.empty() ? connectivity::idle : record.back().state;
  }
  [[nodiscard]] const std::string& reason() const { return record.back().reason; }
  // A call; null means that the call must wait.
  subchannel* call(held_call& c) {
    const pick p = policy->choose(pick_info(c));
    if (!p.to) return nullptr;
    const transport::exchange x = p.to->open(c);
    if (!x) {
      p.to->scale();
      return nullptr;
    }
    c.begin(x);
    return p.to;
  }
  // Ends everything and waits for the end.
  task<> end() {
    policy.reset();
    for (const auto& s : alive) s->close("the test is over");
    net->end();
    co_await sleep_for(1min);
  }

  // balancer_host
  subchannel& make_subchannel(const endpoint& to, subchannel_user& user) override {
    alive.push_back(
        std::make_unique<subchannel>(loop_, params, to, static_cast<subchannel_owner&>(*this), &user));
    alive.back()->set_connections_max(connections_max);
    return *alive.back();
  }
  void drop_subchannel(subchannel& s) noexcept override { s.drain(); }
  void publish(connectivity c, const status& failure) noexcept override {
    record.push_back({loop_.now(), c, std::string(failure.message())});
  }
  void take_waiting(call_queue& calls) noexcept override {
    EXPECT_TRUE(calls.empty()) << "calls wait for streams in shards only";
  }
  [[nodiscard]] const std::optional<std::string>& health_service() const noexcept override { return health; }
  void resolve_again() noexcept override { ++questions; }
  void out_of_memory() noexcept override { ADD_FAILURE() << "there is memory"; }
  [[nodiscard]] loop& owner_loop() const noexcept override { return loop_; }
  [[nodiscard]] std::string_view target() const noexcept override { return "target"; }
  [[nodiscard]] std::shared_ptr<shared_by_loops> shared(std::string_view name,
                                                        shared_by_loops_maker make) override {
    return shared_parts_.get(name, make, seed);
  }
  std::uint64_t seed = 1;  // of what the loops share

 private:
  void on_state(subchannel& s) noexcept override {
    if (s.user()) s.user()->on_state(s);
  }
  void on_slots(subchannel&) noexcept override {}
  void on_drained(subchannel& s) noexcept override {
    std::erase_if(alive, [&](const auto& p) { return p.get() == &s; });
  }
  loop& loop_;
  shared_parts shared_parts_;
};

class balancer_fixture : public testing::Test {
 protected:
  // play: a coroutine that receives the host after its policy was constructed.
  template <class Play>
  void run(const balancing& params, Play play) {
    sync_wait(host_, host_.at(0), whole(params, play));
  }
  sim::world world_{1};
  runtime& host_ = world_.host("host", 1);

 private:
  static task<> whole(const balancing& params, task<> (*play)(recording_host&)) {
    recording_host host(*loop::current());
    host.use(params);
    co_await play(host);
    co_await host.end();
  }
};

}  // namespace coracle::client::test
