#include "coracle/base/assert.hpp"
#include "coracle/runtime/sim.hpp"
#include "runtime/driver.hpp"
#include "runtime/runtime_core.hpp"
#include "runtime/sim/network.hpp"
#include "runtime/sim/sim_backend.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace coracle::sim {

namespace {

// Rounds without the clock moving: far more than any program needs at one moment, and over in seconds.
constexpr std::uint64_t rounds_at_one_moment_max = 20'000'000;

struct member {
  io::driven_loop* loop;
  sim_backend* backend;
  std::uint64_t id;
};

}  // namespace

struct world::state final : io::driver {
  state(std::uint64_t seed, const world_options& o)
      : options(o), net(seed, {o.latency(), o.socket_buffer()}), order(net.random().draw()) {}

  void drive(bool (*done)(const void*) noexcept, const void* context) noexcept override {
    while (!done(context))
      CORACLE_ASSERT(step(never),
                     "the simulated world has nothing left to do, and what is waited for has not happened");
  }
  duration offload_delay() noexcept override {
    // Between a cached file and a slow disk.
    return std::chrono::microseconds(20 + order.below(2000));
  }

  // One round of turns, or one move of the clock, not past `limit`. False when neither is possible.
  bool step(time_point limit);
  [[nodiscard]] bool round();
  [[nodiscard]] time_point next_moment() const noexcept;
  void add_loops(runtime& of, const std::vector<sim_backend*>& backends);

  const world_options options;
  network net;
  seeded_random order;
  std::vector<std::pair<host_state*, std::unique_ptr<runtime>>> hosts;
  std::vector<member> loops;
  std::vector<member*> ready;
  std::uint64_t rounds_now = 0;
};

bool world::state::step(time_point limit) {
  CORACLE_ASSERT(!coro::executor::current(), "a simulated world is driven from outside: no task may run it");
  net.run_due();
  if (round()) {
    CORACLE_ASSERT(++rounds_now < rounds_at_one_moment_max,
                   "a task of the simulated world is busy for ever: give it something to wait for");
    return true;
  }
  const time_point next = next_moment();
  if (next == never || next > limit) return false;
  rounds_now = 0;
  if (next < net.next_event()) {
    for (const member& m : loops)
      if (m.loop->next_deadline() == next) net.traced().add(next, event_kind::timer, m.id);
  }
  net.advance(std::max(next, net.now()));
  return true;
}

// Everybody who has something to do gets one turn, in an order of chance.
bool world::state::round() {
  ready.clear();
  for (member& m : loops)
    if (m.loop->has_ready() || m.backend->has_ready() || m.loop->next_deadline() <= net.now())
      ready.push_back(&m);
  for (std::size_t i = ready.size(); i > 1; --i) std::swap(ready[i - 1], ready[order.below(i)]);
  for (const member* m : ready) m->loop->turn_once(time_point::min());
  return !ready.empty();
}

time_point world::state::next_moment() const noexcept {
  time_point next = net.next_event();
  for (const member& m : loops) next = std::min(next, m.loop->next_deadline());
  return next;
}

void world::state::add_loops(runtime& of, const std::vector<sim_backend*>& backends) {
  for (std::size_t i = 0; i < backends.size(); ++i)
    loops.push_back({&of.core().loop_at(i), backends[i], loops.size() + 1});
}

world::world(std::uint64_t seed, const world_options& options)
    : state_(std::make_unique<state>(seed, options)) {}

world::~world() {
  // All are asked first: a server's drain and a client's calls end each other.
  for (auto& [host, rt] : state_->hosts) rt->stop();
  for (auto& [host, rt] : state_->hosts)
    state_->drive(
        [](const void* core) noexcept { return static_cast<const io::runtime_core*>(core)->finished(); },
        &rt->core());
  // What the last roots posted on their way out. Bounded: works that post themselves for ever have no owner
  // left.
  for (int rounds = 0; rounds < 1000 && state_->round(); ++rounds) {
  }
  state_->loops.clear();
  state_->hosts.clear();
}

runtime& world::host(std::string_view name, std::size_t loops) {
  for (auto& [host, rt] : state_->hosts)
    if (host->name == name) return *rt;
  CORACLE_ASSERT(loops > 0, "a host has at least one loop");
  host_state& host = state_->net.add_host(std::string(name));
  std::vector<std::unique_ptr<io::backend>> backends;
  std::vector<sim_backend*> seen;
  for (std::size_t i = 0; i < loops; ++i) {
    auto b = std::make_unique<sim_backend>(state_->net, host);
    seen.push_back(b.get());
    backends.push_back(std::move(b));
  }
  state_->hosts.emplace_back(&host,
                             io::make_driven_runtime(std::move(backends), state_->options.log(), *state_));
  runtime& made = *state_->hosts.back().second;
  state_->add_loops(made, seen);
  return made;
}

std::string world::address_of(std::string_view name) const {
  const host_state* host = state_->net.find_host(name);
  CORACLE_ASSERT(host, "there is no host of that name in this world");
  return "10.0.0." + std::to_string(host->index);
}

void world::set_name(std::string_view name, const name_record& record) {
  state_->net.names().set(name, record);
}

bool world::signal(std::string_view name, process_signal s) {
  host_state* host = state_->net.find_host(name);
  CORACLE_ASSERT(host, "there is no host of that name in this world");
  return state_->net.signal(*host, 1u << static_cast<unsigned>(s));
}

void world::run() {
  while (state_->step(never)) {
  }
}

bool world::run_until(const std::function<bool()>& condition) {
  while (!condition())
    if (!state_->step(never)) return condition();
  return true;
}

void world::run_for(duration d) {
  const time_point end = deadline_after(now(), d);
  while (state_->step(end)) {
  }
  if (end != never) state_->net.advance(std::max(end, now()));
}

time_point world::now() const noexcept { return state_->net.now(); }
std::uint64_t world::trace_hash() const noexcept { return state_->net.traced().hash(); }
std::uint64_t world::trace_length() const noexcept { return state_->net.traced().count(); }

}  // namespace coracle::sim
