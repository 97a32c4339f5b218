// ring_hash: picks servers by a hash of the call, from a ring on which each server has several places (gRFC
// A42, A61, A76).
#pragma once

#include "client/balancing/balancer.hpp"
#include "coracle/client/balancing_options.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::client {

class ring_hash_config final : public policy_config {
 public:
  explicit ring_hash_config(ring_hash_options options) noexcept : options_(std::move(options)) {}
  [[nodiscard]] const ring_hash_options& options() const noexcept { return options_; }
  [[nodiscard]] std::string_view family() const noexcept override { return "ring_hash"; }
  [[nodiscard]] bool equals(const policy_config& other) const noexcept override {
    return options_ == static_cast<const ring_hash_config&>(other).options_;
  }
  [[nodiscard]] std::unique_ptr<balancer> make(balancer_host& host) const override;

 private:
  ring_hash_options options_;
};

// The places of servers on the ring. Depends only on the servers, so that all clients have the same ring.
class hash_ring {
 public:
  struct place {
    std::uint64_t hash;
    std::uint32_t server;
  };
  // keys and weights: of the servers, by index. The sizes as in ring_hash_options.
  void set(const std::vector<std::string>& keys, const std::vector<std::uint32_t>& weights,
           std::uint32_t size_min, std::uint32_t size_max);
  // Returns the first place at or after `hash`. The ring must not be empty.
  [[nodiscard]] std::size_t find(std::uint64_t hash) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }
  [[nodiscard]] std::uint32_t server_at(std::size_t at) const noexcept {
    return places_[at % places_.size()].server;
  }

 private:
  std::vector<place> places_;  // by hash
};

// Connects to a server when a call needs it. A server that has failed counts as failed until it is READY; it
// is connected to again after each pause. If servers have failed and no call comes, the others are tried one
// by one.
class ring_hash final : public balancer {
 public:
  explicit ring_hash(balancer_host& host) noexcept : balancer(host) {}
  ~ring_hash() override;

  void update(const balancing& policy, const std::vector<endpoint>& servers) override;
  // Connects to one server, if none is connected or connecting.
  void connect() override;
  pick choose(const pick_info& call) override;

 private:
  // A user for each server: calls that wait for one do not wait for another. And each one is connected by
  // itself: between a pick and what follows from it, other calls may be picked for.
  struct server final : subchannel_user, connectable {
    explicit server(ring_hash& r) noexcept : subchannel_user(true), owner(r) {}
    void on_state(subchannel&) override { owner.on_state(*this); }
    void connect() override;
    [[nodiscard]] connectivity state() const noexcept {
      return failed ? connectivity::transient_failure : at->state();
    }
    ring_hash& owner;
    subchannel* at = nullptr;  // null until update() has made it
    bool failed = false;  // and has not been READY since
    connectivity counted = connectivity::shutdown;  // shutdown: it is not
    const no_server wake{no_server::action::connect, this};
  };
  [[nodiscard]] pick choose_by(std::uint64_t hash) noexcept;
  [[nodiscard]] pick choose_any(std::uint64_t random) noexcept;
  // Of the call's metadata, or of its route; empty without.
  [[nodiscard]] std::optional<std::uint64_t> hash_of(const pick_info& call) const;
  void note_failure(server& s);
  void on_state(server& s);
  void drop(server& s) noexcept;
  void build_ring();
  void count(server& s) noexcept;
  [[nodiscard]] std::size_t servers_in(connectivity c) const noexcept {
    return counts_[static_cast<std::size_t>(c)];
  }
  // Connects to the first that is IDLE.
  void connect_one();
  void publish_state();

  ring_hash_options options_;
  std::vector<std::unique_ptr<server>> servers_;
  std::array<std::size_t, static_cast<std::size_t>(connectivity::shutdown) + 1> counts_{};  // by state
  hash_ring ring_;
  bool listed_ = false;  // there are servers, perhaps without a weight
  status last_failure_;
  const no_server wait_;
  // Servers may have failed that have not been reported yet, or only those of the ring.
  no_server fail_{no_server::action::fail, nullptr,
                  status::unavailable("no server of the ring can be reached")};
};

}  // namespace coracle::client
