// balancing: how a channel spreads its calls over the servers of its target.
#pragma once

#include "coracle/client/pick_policy.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace coracle {

// A value. Each loop that calls through the channel has connections, and thus turns, of its own.
class balancing {
 public:
  // The default. One server for all calls: the first of the list that can be reached, tried 250 ms apart with
  // the families taking turns (RFC 8305, gRFC A61), and kept until it is lost. shuffle: the list in an order
  // drawn anew (gRFC A62), so that many clients with one list spread over it.
  static balancing pick_first(bool shuffle = false) noexcept {
    return balancing(shuffle ? kind::shuffled_pick_first : kind::pick_first);
  }
  // Every server in turn.
  static balancing round_robin() noexcept { return balancing(kind::round_robin); }
  // The one with the fewest calls in flight among `choices` drawn at random (gRFC A48): 2 to 100.
  static balancing least_request(std::uint32_t choices = 2);
  // Every server in turn, as often as its endpoint's weight says.
  static balancing weighted() noexcept { return balancing(kind::weighted); }
  // A policy of the user's.
  static balancing by(client::pick_policy_maker make) {
    balancing b(kind::by_user);
    b.make_ = std::make_shared<const client::pick_policy_maker>(std::move(make));
    return b;
  }

  // For the library.
  enum class kind : std::uint8_t {
    pick_first,
    shuffled_pick_first,
    round_robin,
    least_request,
    weighted,
    by_user
  };
  [[nodiscard]] kind how() const noexcept { return kind_; }
  [[nodiscard]] std::uint32_t choices() const noexcept { return choices_; }
  [[nodiscard]] const client::pick_policy_maker& maker() const noexcept { return *make_; }
  // Users' policies are equal when one is a copy of the other.
  friend bool operator==(const balancing&, const balancing&) = default;

 private:
  explicit balancing(kind k) noexcept : kind_(k) {}
  kind kind_;
  std::uint32_t choices_ = 0;
  std::shared_ptr<const client::pick_policy_maker> make_;
};

}  // namespace coracle
