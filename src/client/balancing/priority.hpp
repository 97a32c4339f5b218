// priority: uses the first of several policies that works (gRFC A56).
#pragma once

#include "client/balancing/child_policy.hpp"
#include "coracle/coro/executor.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace coracle::client {

class priority_config final : public policy_config {
 public:
  struct level {
    std::string name;  // another one for each
    balancing policy;
    servers_of_child servers{};
    bool ignores_resolution_requests = false;
    friend bool operator==(const level&, const level&) = default;
  };
  // The first one is used if it works.
  explicit priority_config(std::vector<level> levels) noexcept : levels_(std::move(levels)) {}
  [[nodiscard]] const std::vector<level>& levels() const noexcept { return levels_; }
  [[nodiscard]] std::string_view family() const noexcept override { return "priority"; }
  [[nodiscard]] bool equals(const policy_config& other) const noexcept override {
    return levels_ == static_cast<const priority_config&>(other).levels_;
  }
  [[nodiscard]] rpc::policy_outline outline() const override {
    rpc::policy_outline all{std::string(family())};
    for (const level& l : levels_) all.children.push_back(outline_of_child(l.name, l.policy, l.servers));
    return all;
  }
  [[nodiscard]] std::unique_ptr<balancer> make(balancer_host& host) const override;

 private:
  std::vector<level> levels_;
};

// The level in use is the first one that is READY or IDLE, or still has time to become it; else the first one
// that is CONNECTING; else the last one. Levels below are made when they are needed first, and are kept for a
// while after a higher one took over.
class priority final : public balancer, private child_policy_owner {
 public:
  static constexpr duration failover_time = std::chrono::seconds(10);
  static constexpr duration kept_time = std::chrono::minutes(15);

  explicit priority(balancer_host& host) noexcept : balancer(host) {}

  void update(const balancing& policy, const std::vector<endpoint>& servers) override;
  void connect() override;
  pick choose(const pick_info& call) override;

 private:
  struct level;
  struct level_timer : coro::timer {
    explicit level_timer(level& l) noexcept : of(l) {}
    level& of;
  };
  struct level {
    level(priority& p, std::string n) : owner(p), name_of(std::move(n)) {
      failover.fire = [](coro::timer& t) noexcept { static_cast<level_timer&>(t).of.owner.choose_again(); };
      removal.fire = [](coro::timer& t) noexcept {
        static_cast<level_timer&>(t).of.owner.remove(static_cast<level_timer&>(t).of);
      };
    }
    level(const level&) = delete;
    level& operator=(const level&) = delete;
    ~level();
    [[nodiscard]] const std::string& name() const noexcept { return name_of; }
    priority& owner;
    const std::string name_of;
    level_timer failover{*this};  // while it may still become READY
    level_timer removal{*this};
    bool worked = false;  // READY or IDLE since it failed last
    std::unique_ptr<child_policy> policy;  // null: not needed yet
  };

  // child_policy_owner
  void on_child(child_policy& c) noexcept override;
  [[nodiscard]] const std::vector<endpoint>& servers_of(std::size_t i) const noexcept;
  [[nodiscard]] const priority_config::level& configured(std::size_t i) const noexcept;
  void make_child(std::size_t i);
  void update_child(std::size_t i);
  // Chooses the level in use anew, and publishes its state.
  void choose_level();
  void choose_again() noexcept;
  void remove(level& l) noexcept;

  balancing policy_ = balancing::pick_first();  // a priority_config after update()
  std::vector<endpoint> servers_;
  std::vector<std::unique_ptr<level>> levels_;
  std::size_t current_ = 0;
  bool updating_ = false;  // the level is chosen when all children have their states
  const no_server wait_;
};

}  // namespace coracle::client
