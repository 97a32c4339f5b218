// balancing: how a channel distributes its calls over the servers of its target.
#pragma once

#include "coracle/client/pick_policy.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace coracle {

/// The load balancing policy of a channel. A value type.
///
/// Each loop that makes calls through the channel has its own connections, and balances its calls
/// independently.
class balancing {
 public:
  /// Sends all calls to one server. This is the default.
  ///
  /// Tries the servers of the list 250 ms apart, alternating between address families (RFC 8305, gRFC A61),
  /// and keeps the first one that it reaches until that connection is lost. `shuffle` randomizes the list
  /// (gRFC A62), so that many clients with the same list spread over its servers.
  static balancing pick_first(bool shuffle = false) noexcept {
    return balancing(shuffle ? kind::shuffled_pick_first : kind::pick_first);
  }
  /// Picks every server in turn.
  static balancing round_robin() noexcept { return balancing(kind::round_robin); }
  /// Picks the server with the fewest calls in flight among `choices` servers drawn at random (gRFC A48). The
  /// minimum of `choices` is 2; values above 100 count as 100.
  static balancing least_request(std::uint32_t choices = 2);
  /// Picks every server in turn, in proportion to the weight of its endpoint.
  static balancing weighted() noexcept { return balancing(kind::weighted); }
  /// Uses a policy of the program. `make` makes one policy object per loop.
  static balancing by(client::pick_policy_maker make) {
    balancing b(kind::custom);
    b.make_ = std::make_shared<const client::pick_policy_maker>(std::move(make));
    return b;
  }

  /// User-defined policies are equal if one is a copy of the other.
  friend bool operator==(const balancing&, const balancing&) = default;

  /// @cond  For the library.
  enum class kind : std::uint8_t {
    pick_first,
    shuffled_pick_first,
    round_robin,
    least_request,
    weighted,
    custom
  };
  [[nodiscard]] kind type() const noexcept { return kind_; }
  [[nodiscard]] std::uint32_t choices() const noexcept { return choices_; }
  [[nodiscard]] const client::pick_policy_maker& maker() const noexcept { return *make_; }
  /// @endcond

 private:
  explicit balancing(kind k) noexcept : kind_(k) {}
  kind kind_;
  std::uint32_t choices_ = 0;
  std::shared_ptr<const client::pick_policy_maker> make_;
};

}  // namespace coracle
