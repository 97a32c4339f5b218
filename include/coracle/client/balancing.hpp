// balancing: how a channel distributes its calls over the servers of its target.
#pragma once

#include "coracle/client/balancing_options.hpp"
#include "coracle/client/pick_policy.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace coracle {

namespace client {
class policy_config;  // private: src/client/balancing/policy_config.hpp
}

/// The load balancing policy of a channel. A value type; copies share one immutable configuration.
///
/// Each loop that makes calls through the channel has its own connections, and balances its calls
/// independently.
class balancing {
 public:
  /// Sends all calls to one server. This is the default.
  ///
  /// Tries the servers of the list 250 ms apart, alternating between address families (RFC 8305, gRFC A61),
  /// and keeps the first one that it reaches until that connection is lost. `shuffle` randomizes the list
  /// by the weights of its servers (gRFC A62, A113), so that clients with the same list spread over them.
  static balancing pick_first(bool shuffle = false);
  /// Picks every server in turn.
  static balancing round_robin();
  /// As above, but servers that have just become READY are left out more often at first.
  static balancing round_robin(slow_start_options slow_start);
  /// Picks the server with the fewest calls in flight among `choices` servers drawn at random (gRFC A48). The
  /// minimum of `choices` is 2; values above 10 count as 10.
  static balancing least_request(std::uint32_t choices = 2);
  /// Picks every server in turn, in proportion to the weight of its endpoint.
  static balancing weighted();
  /// Picks servers in proportion to weights that follow from the load that they report: calls per second over
  /// utilization (gRFC A58). Without reports of two servers at least, it is round robin.
  static balancing weighted_round_robin(weighted_round_robin_options options = {});
  /// Picks the server by a hash of the call's metadata (gRFC A42, A76): calls with the same value have the
  /// same server, and few of them move when servers come and go. It connects to a server when a call needs
  /// it.
  static balancing ring_hash(ring_hash_options options = {});
  /// Gives the policy `child` a random selection of up to `size` servers, the same for all loops of the
  /// channel (gRFC A68), so that a service with many clients and servers has fewer connections. The minimum
  /// of `size` is 1.
  static balancing random_subsetting(std::uint32_t size, balancing child);
  /// Takes servers that fail calls out of the policy `child` for a while (gRFC A50). Has no effect on
  /// pick_first.
  static balancing outlier_detection(outlier_detection_options options, balancing child);
  /// Uses a policy of the program. `make` makes one policy object per loop.
  static balancing by(client::pick_policy_maker make);

  /// User-defined policies are equal if one is a copy of the other.
  friend bool operator==(const balancing& a, const balancing& b) noexcept;

  /// @cond  For the library.
  explicit balancing(std::shared_ptr<const client::policy_config> config) noexcept
      : config_(std::move(config)) {}
  [[nodiscard]] const client::policy_config& config() const noexcept { return *config_; }
  [[nodiscard]] const std::shared_ptr<const client::policy_config>& shared_config() const noexcept {
    return config_;
  }
  /// @endcond

 private:
  std::shared_ptr<const client::policy_config> config_;
};

}  // namespace coracle
