// node: a server of the fleet, over all lives of its host.
#pragma once

#include "sim/day/figures.hpp"
#include "sim/day/plan.hpp"
#include "sim/swarm/dice.hpp"

#include "echo.coracle.hpp"

#include "coracle/client.hpp"
#include "coracle/server.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coracle::day {

using swarm::dice;

// What all nodes and users have in common.
struct common {
  const bool protects;
  figures& numbers;
  bool storm = false;
};

// Channels to the services of a layer, and the calls on them.
class callers {
 public:
  // servers: of each service, in all zones.
  callers(common& c, runtime& rt, std::size_t layer, const std::vector<std::vector<net::address>>& servers);
  // Makes a call and measures it.
  [[nodiscard]] task<status> call(std::size_t service) const;

 private:
  static channel_options options(const common& c, std::size_t layer);

  common& common_;
  const std::size_t layer_;
  std::vector<channel> channels_;
};

class node final {
 public:
  node(common& c, std::size_t layer, std::size_t service, dice draws)
      : common_(c), layer_(layer), service_(service), draws_(draws) {}

  // Of its present life. below: the layer that it calls; null for the last one.
  void start(runtime& rt, const std::vector<std::vector<net::address>>* below);
  void stop_server();
  // The host has gone, with all that the node has there.
  void end() noexcept { life_.reset(); }
  // A new release takes the place of the one that stop_server() has ended.
  void restart_server(bool bad);
  void set_slowdown(int times) noexcept { slowdown_ = times; }
  // What its workers can do of use in a second.
  [[nodiscard]] double capacity() const noexcept;

  static std::uint16_t port_of(std::size_t service) noexcept {
    return static_cast<std::uint16_t>(10'000 + service);
  }

 private:
  class calls_service final : public echo::rpc::Echo::service {
   public:
    explicit calls_service(node& of) noexcept : node_(of) {}
    reply<echo::Text> Say(server_context& context, const echo::Text& request) override;

   private:
    node& node_;
  };
  struct life {
    life(node& n, runtime& rt, const std::vector<std::vector<net::address>>* below);
    runtime& on;
    calls_service service;
    std::optional<server> srv;
    std::optional<callers> next;
  };
  void listen();
  // When a worker will have finished a call that comes now.
  time_point finish_of_next(time_point now) noexcept;

  common& common_;
  const std::size_t layer_;
  const std::size_t service_;
  dice draws_;
  int slowdown_ = 1;
  bool bad_ = false;
  bool listens_ = false;
  std::array<time_point, workers> free_at_{};
  std::unique_ptr<life> life_;
};

}  // namespace coracle::day
