// pick_policy: chooses the server of each call among those that are connected.
#pragma once

#include "coracle/client/resolution.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace coracle::client {
class call_attempt;  // private: src/client/call_attempt.hpp
}

namespace coracle::client {

class subchannel;  // private: src/client/subchannel.hpp

// A server with a connection that is READY. Valid during the call that it is given to.
class pick_candidate {
 public:
  explicit pick_candidate(subchannel& s) noexcept : at_(&s) {}
  [[nodiscard]] const endpoint& where() const noexcept;
  // Calls in flight there that were made through this channel on this loop.
  [[nodiscard]] std::size_t open_calls() const noexcept;

 private:
  friend class spread_balancer;
  subchannel* at_;
};

// What is known of the call. Valid during the pick.
class pick_info {
 public:
  explicit pick_info(const call_attempt& a) noexcept : attempt_(a) {}
  [[nodiscard]] std::string_view path() const noexcept;  // "/package.Service/Method"
  // The first value of that key of the call's own metadata.
  [[nodiscard]] std::optional<std::string_view> metadata(std::string_view key) const noexcept;

 private:
  const call_attempt& attempt_;
};

// The channel connects to every endpoint and keeps it connected; a policy chooses among those that are READY.
// Round robin, least request and weights are such policies; users derive from it for others. One object a
// loop, used there alone: state in it needs no lock.
class pick_policy {
 public:
  // Ends the call with UNAVAILABLE, also one that waits for ready.
  static constexpr std::size_t drop = ~std::size_t{0};

  virtual ~pick_policy() = default;
  // The set of ready servers is another from now on; their order means nothing.
  virtual void ready_changed(std::span<const pick_candidate> ready) { static_cast<void>(ready); }
  // An index into `ready`, which is never empty, or drop. Called once a call, and again for calls that had to
  // wait. A server at its limit of streams is passed over for the next in the row that is not.
  virtual std::size_t pick(std::span<const pick_candidate> ready, const pick_info& call) = 0;
};

// `seed` is a number drawn by the loop: randomness that a simulation can repeat.
using pick_policy_maker = std::function<std::unique_ptr<pick_policy>(std::uint64_t seed)>;

}  // namespace coracle::client
