// pick_policy: chooses the server of each call among the connected ones.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/client/resolver.hpp"
#include "coracle/rpc/load_report.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace coracle::client {
class call_attempt;  // private: src/client/call/call_attempt.hpp
}

namespace coracle::client {

class subchannel;  // private: src/client/balancing/subchannel.hpp

/// A server with a connection that is READY. Valid during the call that receives it.
class pick_candidate {
 public:
  /// @cond
  explicit pick_candidate(subchannel& s) noexcept : at_(&s) {}
  /// @endcond
  /// Returns the endpoint of the server.
  [[nodiscard]] const endpoint& where() const noexcept;
  /// Returns the calls in flight on that server that were made through this channel on this loop.
  [[nodiscard]] std::size_t open_calls() const noexcept;

 private:
  friend class slow_start;
  friend class spread_balancer;
  friend class weighted_round_robin;
  subchannel* at_;
};

/// The call to pick a server for. Valid during pick().
class pick_info {
 public:
  /// @cond
  explicit pick_info(const call_attempt& a) noexcept : attempt_(a) {}
  [[nodiscard]] const call_attempt& attempt() const noexcept { return attempt_; }
  /// @endcond
  [[nodiscard]] std::string_view path() const noexcept;  ///< "/package.Service/Method"
  /// Returns the first value of `key` in the metadata that the caller set.
  [[nodiscard]] std::optional<std::string_view> metadata(std::string_view key) const noexcept;

 private:
  const call_attempt& attempt_;
};

/// Chooses the server of each call. Users derive from it for their own policies; round robin, least
/// request and weighted are implemented this way.
///
/// The channel connects to every endpoint and keeps it connected, and a policy chooses among those that are
/// READY. There is one object per loop, which is used only on that loop: its state needs no lock.
class pick_policy {
 public:
  /// A result of pick(): ends the call with UNAVAILABLE, even if it waits for ready.
  static constexpr std::size_t drop = ~std::size_t{0};

  virtual ~pick_policy() = default;
  /// Runs when the set of ready servers has changed. Their order has no meaning.
  virtual void ready_changed(std::span<const pick_candidate> ready) { static_cast<void>(ready); }
  /// Returns an index into `ready`, which is never empty, or `drop`. It runs once per call, and again for
  /// calls that had to wait. If the chosen server is at its stream limit, the call goes to the next server in
  /// the list that is not. It must not throw.
  virtual std::size_t pick(std::span<const pick_candidate> ready, const pick_info& call) = 0;

  // --- load reports (gRFC A51)
  /// Returns whether load_reported() runs for the load that servers report with calls. Asked for each server
  /// that the channel connects to. Default: false, and such reports are not read.
  [[nodiscard]] virtual bool wants_load_of_calls() const { return false; }
  /// Returns the interval at which servers shall report their load out of band, over one stream per
  /// connection; they may do so less often. Asked for each server that the channel connects to. A server
  /// without xds.service.orca.v3.OpenRcaService is logged, and does not report. Default: empty, for no
  /// reports out of band.
  [[nodiscard]] virtual std::optional<duration> load_interval() const { return std::nullopt; }
  /// Runs when a server has reported its load, with a call or out of band. It must not throw.
  virtual void load_reported(const pick_candidate& server, const load_report& load) {
    static_cast<void>(server);
    static_cast<void>(load);
  }
};

/// Makes a policy for one loop. `seed` is a random number of that loop, so that simulations are reproducible.
using pick_policy_maker = std::function<std::unique_ptr<pick_policy>(std::uint64_t seed)>;

}  // namespace coracle::client
