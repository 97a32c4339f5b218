#include "sim/day/fleet.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace coracle::day {

namespace {

constexpr duration tick = 100ms;

}  // namespace

fleet::fleet(const fleet_options& o)
    : options_(o), world_(o.seed, sim::world_options{.latency = 200us, .log = &log_}) {
  for (std::size_t i = 0; i < layers * zones * o.services; ++i)
    nodes_.push_back(
        std::make_unique<node>(common_, i / (zones * o.services), i % o.services, dice(o.seed, 1000 + i)));
  for (std::size_t layer = layers; layer-- > 0;) start_layer(layer);
  for (std::size_t zone = 0; zone < zones; ++zone)
    users_.push_back(std::make_unique<users>(common_, world_.host(host_of_users(zone)), servers_[0],
                                             dice(o.seed, 100 + zone)));
}

std::string fleet::host_of(std::size_t layer, std::size_t zone) {
  return "layer" + std::to_string(layer) + "zone" + std::to_string(zone);
}

void fleet::start_layer(std::size_t layer) {
  const auto* const below = layer + 1 < layers ? &servers_[layer + 1] : nullptr;
  servers_[layer].resize(options_.services);
  for (std::size_t zone = 0; zone < zones; ++zone) {
    // Its nodes live as long as what the program returns.
    const auto program = [this, layer, zone, below](runtime& rt) -> std::shared_ptr<void> {
      for_zone(layer, zone, [&](node& n) { n.start(rt, below); });
      return {this, [layer, zone](fleet* f) { f->for_zone(layer, zone, [](node& n) { n.end(); }); }};
    };
    const std::string host = host_of(layer, zone);
    world_.start(host, program);
    for (std::size_t i = 0; i < options_.services; ++i)
      servers_[layer][i].push_back(
          net::address::parse(world_.address_of(host) + ":" + std::to_string(node::port_of(i))).value());
  }
}

// --- users

double fleet::seconds_now() const noexcept {
  return std::chrono::duration<double>(world_.now() - start_).count();
}

double fleet::rate() const noexcept {
  const double second = seconds_now();
  double share = load_at(second);
  const event& storm = events[retry_storm];
  if (common_.storm && second < static_cast<double>(storm.begin) + storm_burst_time / 1.0s)
    share *= storm_burst;
  return share * calls_per_second(0) * static_cast<double>(options_.services);
}

task<> fleet::arrivals(users& u) {
  while (seconds_now() < static_cast<double>(day_seconds)) {
    const double draw = static_cast<double>(u.draws.draw() >> 11) * 0x1p-53;
    const std::chrono::duration<double> gap(-std::log(1 - draw) / rate());
    co_await sleep_for(std::chrono::duration_cast<duration>(gap));  // sleeps on purpose: virtual time
    u.on.spawn(request(u, u.draws.below(options_.services)));
  }
}

task<> fleet::request(users& u, std::size_t service) {
  for (int tries = 1;; ++tries) {
    const status outcome = co_await u.first_layer.call(service);
    if (outcome.ok() || tries >= (common_.storm ? storm_tries : tries_max)) co_return;
    const duration pause = common_.storm ? u.draws.up_to(20ms) : pause_min + u.draws.up_to(pause_min);
    co_await sleep_for(pause);  // sleeps on purpose: virtual time
  }
}

// --- what goes wrong

void fleet::set_power(bool on) {
  for (std::size_t layer = 0; layer < layers; ++layer) {
    if (on) world_.restart(host_of(layer, power_zone));
    else world_.crash(host_of(layer, power_zone));
  }
}

void fleet::set_partition(bool on) {
  partition_ = on;
  for (std::size_t from = 0; from < zones; ++from)
    for (std::size_t to = 0; to < zones; ++to) {
      if (on) world_.partition(host_of_users(from), host_of(0, to));
      else world_.heal(host_of_users(from), host_of(0, to));
    }
}

void fleet::jump_clocks() {
  for (std::size_t layer = 0; layer < layers; ++layer)
    for (std::size_t zone = 0; zone < zones; ++zone)
      world_.jump_wall_clock(host_of(layer, zone), draws_.up_to(2h) - 1h);
}

void fleet::begin_or_end_events(std::size_t second) {
  const auto begins = [second](what e) { return events[e].begin == second; };
  const auto ends = [second](what e) { return events[e].end == second; };
  // A deployment ends the old servers, and starts the new ones a second later.
  if (begins(bad_deploy) || ends(bad_deploy))
    for_zone(deploy_layer, deploy_zone, [](node& n) { n.stop_server(); });
  if (second == events[bad_deploy].begin + 1 || second == events[bad_deploy].end + 1)
    for_zone(deploy_layer, deploy_zone,
             [&](node& n) { n.restart_server(second == events[bad_deploy].begin + 1); });
  if (begins(slow_disk)) for_zone(disk_layer, disk_zone, [](node& n) { n.set_slowdown(disk_slowdown); });
  if (ends(slow_disk)) for_zone(disk_layer, disk_zone, [](node& n) { n.set_slowdown(1); });
  if (begins(failing_zone)) set_power(false);
  if (ends(failing_zone)) set_power(true);
  if (begins(retry_storm)) common_.storm = true;
  if (ends(retry_storm)) common_.storm = false;
  if (begins(partition)) set_partition(true);
  if (ends(partition)) set_partition(false);
  const event& jumps = events[clock_jumps];
  if (second >= jumps.begin && second < jumps.end) jump_clocks();
}

void fleet::account_capacity(duration of) {
  const double seconds = std::chrono::duration<double>(of).count();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::size_t layer = i / (zones * options_.services);
    if (layer == 0 && partition_) continue;  // users do not reach it
    numbers_.add_capacity(layer, world_.now(), nodes_[i]->capacity() * seconds);
  }
}

void fleet::run() {
  start_ = world_.now();
  numbers_.begin_at(start_);
  for (const auto& u : users_) u->on.spawn(arrivals(*u));
  for (std::size_t second = 0; second < day_seconds; ++second) {
    begin_or_end_events(second);
    for (duration part{}; part < 1s; part += tick) {
      account_capacity(tick);
      world_.run_for(tick);
    }
  }
  world_.run_for(30s);  // until the last requests have ended
}

}  // namespace coracle::day
