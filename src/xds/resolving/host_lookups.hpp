// host_lookups: the addresses of the host names in LOGICAL_DNS clusters (gRFC A37).
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/resolver.hpp"
#include "xds/resource/endpoints.hpp"

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace coracle::xds {

// Resolves each name when it is first looked at, and again on request. After a failure it tries again by
// itself, after pauses that grow; what was found before stays. Lives on one loop.
class host_lookups {
 public:
  using addresses = std::vector<net::address>;  // never empty

  // Sets `changed` whenever find() may have another result.
  explicit host_lookups(event<>& changed) noexcept : changed_(changed) {}
  host_lookups(const host_lookups&) = delete;
  host_lookups& operator=(const host_lookups&) = delete;

  // Nothing while there is no answer yet. The name is in use until the next end_unused().
  [[nodiscard]] std::optional<result<addresses>> find(const socket_address& of);
  // Ends the lookups of the names that find() has not been called with since the last time.
  void end_unused();
  // Resolves all names again.
  void look_again();
  // Runs until it is stopped; must end before this does.
  [[nodiscard]] task<> run();

 private:
  struct lookup {
    explicit lookup(socket_address name) : of(std::move(name)) {}
    const socket_address of;
    std::optional<result<addresses>> latest;
    event<> due;
    bool begun = false;
    bool used = true;
    coro::stop_source stop;  // when it is no longer used

    [[nodiscard]] bool ended() const noexcept { return stop.stop_requested(); }
  };
  [[nodiscard]] task<> begin_all(scope& all);
  [[nodiscard]] task<> follow(std::shared_ptr<lookup> l);

  event<>& changed_;
  event<> added_;
  net::resolver names_;
  std::map<socket_address, std::shared_ptr<lookup>> lookups_;
};

}  // namespace coracle::xds
