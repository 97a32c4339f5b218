#include "coracle/base/impl/assert.hpp"
#include "coracle/runtime/sim.hpp"
#include "runtime/runtime_core.hpp"
#include "runtime/sim/chaos.hpp"
#include "runtime/sim/hosts.hpp"
#include "runtime/sim/network.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace coracle::sim {

namespace {

// The limit of rounds at which the clock does not move: far more than any program needs, yet over in seconds.
constexpr std::uint64_t rounds_at_one_moment_max = 20'000'000;

}  // namespace

struct world::state final : runtime_internal::driver {
  state(std::uint64_t seed, const world_options& o)
      : log(o.log ? *o.log : stderr_logger()),
        net(seed, {o.latency, o.socket_buffer}),
        order(net.random().draw()),
        all(net, log, o.memory, *this) {
    net.traced().keep_last(o.keep_events);
    set_faults(o.faults);
  }

  void drive(bool (*done)(const void*) noexcept, const void* context) noexcept override {
    if (all.retiring()) return all.drive_retired(done, context);
    while (!done(context)) {
      if (step(never)) continue;
      log.write(log_room::runtime, log_level::error,
                "the waiting tasks of the simulated world:\n" + all.tasks());
      CORACLE_ASSERT(false, "deadlock: the simulated world has no event left, and its tasks still wait");
    }
  }
  duration offload_delay() noexcept override {
    // Between the delay of a cached file and that of a slow disk.
    return std::chrono::microseconds(20 + order.below(2000));
  }

  // Executes one round of turns, or moves the clock once, not beyond `limit`. Returns false when neither is
  // possible.
  bool step(time_point limit);
  [[nodiscard]] bool round();
  [[nodiscard]] time_point next_moment() const noexcept;
  void set_faults(const faults& f) {
    net.going_wrong = f;
    trouble.set(f);
  }
  [[nodiscard]] simulated_host& known(std::string_view name) noexcept {
    simulated_host* host = all.find(name);
    CORACLE_ASSERT(host, "this world has no host of that name");
    return *host;
  }

  logger& log;
  network net;
  const time_point began = net.now();
  seeded_random order;
  mutable hosts all;
  chaos trouble{net, all};
  std::vector<host_loop> ready;
  std::uint64_t rounds_now = 0;
};

bool world::state::step(time_point limit) {
  CORACLE_ASSERT(!coro::executor::current(), "a simulated world is driven from outside: no task may run it");
  all.catch_up();
  net.run_due();
  trouble.run_due();
  if (round()) {
    CORACLE_ASSERT(++rounds_now < rounds_at_one_moment_max,
                   "livelock: a task of the simulated world never waits for time or I/O");
    return true;
  }
  time_point next = next_moment();
  if (next == never) return false;
  next = std::min(next, trouble.next_fault());
  if (next > limit) return false;
  rounds_now = 0;
  if (next < net.next_event()) {
    for (const host_loop& l : all.loops())
      if (l.loop->next_deadline() == next) net.traced().add(next, event_kind::timer, l.id);
  }
  net.advance(std::max(next, net.now()));
  return true;
}

// Executes one turn of every loop that has something to do, in random order.
bool world::state::round() {
  ready.clear();
  for (const host_loop& l : all.loops())
    if (l.loop->has_ready() || l.backend->has_ready() || l.loop->next_deadline() <= net.now())
      ready.push_back(l);
  for (std::size_t i = ready.size(); i > 1; --i) std::swap(ready[i - 1], ready[order.below(i)]);
  for (const host_loop& l : ready) l.loop->run_once(time_point::min());
  return !ready.empty();
}

time_point world::state::next_moment() const noexcept {
  time_point next = std::min(net.next_event(), trouble.next_repair());
  for (const host_loop& l : all.loops()) next = std::min(next, l.loop->next_deadline());
  return next;
}

world::world(std::uint64_t seed, const world_options& options)
    : state_(std::make_unique<state>(seed, options)) {}

world::~world() {
  state_->set_faults({});
  state_->all.end_all();
}

runtime& world::host(std::string_view name, std::size_t loops) {
  simulated_host* known = state_->all.find(name);
  if (!known) known = &state_->all.add(name, loops, nullptr);
  CORACLE_ASSERT(known->life, "the host is down: it has no runtime until it is restarted");
  return *known->life->rt;
}

runtime& world::start(std::string_view name, program starts, std::size_t loops) {
  CORACLE_ASSERT(!state_->all.find(name), "the host already has a program: a host is created once");
  return *state_->all.add(name, loops, std::move(starts)).life->rt;
}

void world::crash(std::string_view name) { state_->all.crash(state_->known(name)); }
void world::restart(std::string_view name) { state_->all.restart(state_->known(name)); }
bool world::is_up(std::string_view name) const {
  const simulated_host& host = state_->known(name);
  return host.life && !host.crashed;
}

void world::partition(std::string_view a, std::string_view b) {
  state_->net.cut(*state_->known(a).net, *state_->known(b).net);
}
void world::heal(std::string_view a, std::string_view b) {
  state_->net.heal(*state_->known(a).net, *state_->known(b).net);
}
void world::heal() { state_->net.heal_all(); }
void world::jump_wall_clock(std::string_view name, duration by) {
  state_->net.jump_clock(*state_->known(name).net, by);
}
void world::set_faults(const faults& f) { state_->set_faults(f); }

std::string world::address_of(std::string_view name) const {
  return "10.0.0." + std::to_string(state_->known(name).net->index);
}

void world::set_name(std::string_view name, const name_record& record) {
  state_->net.names().set(name, record);
}

bool world::signal(std::string_view name, process_signal s) {
  return state_->net.signal(*state_->known(name).net, 1u << static_cast<unsigned>(s));
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

bool world::run_until(const std::function<bool()>& condition, duration at_most) {
  const time_point end = deadline_after(now(), at_most);
  while (!condition())
    if (now() > end || !state_->step(end)) return condition();
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
std::string world::tasks() const { return state_->all.tasks(); }
std::vector<std::string> world::last_events() const { return state_->net.traced().last(state_->began); }

}  // namespace coracle::sim
