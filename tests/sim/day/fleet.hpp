// fleet: all servers and users, in one simulated world, for a day.
#pragma once

#include "sim/day/node.hpp"

#include "coracle/base/log.hpp"
#include "coracle/runtime/sim.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::day {

struct fleet_options {
  std::uint64_t seed = 1;
  std::size_t services = 10;  // of each layer
  bool protects = true;
};

class fleet {
 public:
  explicit fleet(const fleet_options& o);
  // Lives through the day.
  void run();
  [[nodiscard]] const figures& numbers() const noexcept { return numbers_; }
  [[nodiscard]] std::uint64_t trace_hash() const noexcept { return world_.trace_hash(); }

 private:
  class silent_log final : public logger {
   public:
    silent_log() { set_min_level(log_level::error); }
    void record(log_level, std::string_view) noexcept override {}
  };
  // The users of a zone, who are many.
  struct users {
    users(common& c, runtime& rt, const std::vector<std::vector<net::address>>& servers, dice d)
        : on(rt), first_layer(c, rt, 0, servers), draws(d) {}
    runtime& on;
    callers first_layer;
    dice draws;
  };

  static std::string host_of(std::size_t layer, std::size_t zone);
  static std::string host_of_users(std::size_t zone) { return "users" + std::to_string(zone); }
  [[nodiscard]] node& at(std::size_t layer, std::size_t zone, std::size_t service) noexcept {
    return *nodes_[(layer * zones + zone) * options_.services + service];
  }
  void start_layer(std::size_t layer);
  task<> arrivals(users& u);
  task<> request(users& u, std::size_t service);
  // Requests per second of the users of a zone.
  [[nodiscard]] double rate() const noexcept;
  [[nodiscard]] double seconds_now() const noexcept;

  void begin_or_end_events(std::size_t second);
  template <class Do>
  void for_zone(std::size_t layer, std::size_t zone, Do&& act) {
    for (std::size_t i = 0; i < options_.services; ++i) act(at(layer, zone, i));
  }
  void set_power(bool on);
  void set_partition(bool on);
  void jump_clocks();
  void account_capacity(duration of);

  const fleet_options options_;
  figures numbers_{day_seconds};
  common common_{options_.protects, numbers_};
  dice draws_{options_.seed, 1};
  silent_log log_;
  std::vector<std::unique_ptr<node>> nodes_;  // by layer, zone and service
  std::vector<std::vector<std::vector<net::address>>> servers_{layers};  // by layer, service and zone
  bool partition_ = false;
  time_point start_{};
  sim::world world_;  // ends before what its programs refer to
  std::vector<std::unique_ptr<users>> users_;
};

}  // namespace coracle::day
