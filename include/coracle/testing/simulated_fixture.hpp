// simulated_fixture: runs a service and its client on two hosts of a simulated world with a virtual clock.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/server/server.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace coracle::testing {

/// Works like service_fixture, over a simulated network and with a virtual clock: sync_wait() and
/// world().run_for() advance the time, and equal seeds give equal runs. Everything runs on the test's thread.
/// The hosts are called "server" and "client"; the world controls faults, partitions and further hosts
/// (coracle/runtime/sim.hpp).
template <class Service>
class simulated_fixture {
 public:
  /// Makes Service(args...) on the host "server" of a world with this seed.
  template <class... Args>
  explicit simulated_fixture(std::uint64_t seed, Args&&... args)
      : world_(seed), service_(std::forward<Args>(args)...), server_(world_.host("server")) {
    server_.add(service_);
  }
  simulated_fixture(const simulated_fixture&) = delete;
  simulated_fixture& operator=(const simulated_fixture&) = delete;

  /// The world, for time, faults and further hosts.
  [[nodiscard]] sim::world& world() noexcept { return world_; }
  /// The service, which runs on the host "server".
  [[nodiscard]] Service& service() noexcept { return service_; }
  /// The server, to add more services and interceptors before the first channel().
  [[nodiscard]] coracle::server& server() noexcept { return server_; }
  /// The runtime of the host "client".
  [[nodiscard]] coracle::runtime& runtime() { return world_.host("client"); }
  /// The channel from the client to the server, which is made on the first call.
  [[nodiscard]] coracle::channel& channel() {
    if (!channel_) {
      const status bound = server_.listen("0.0.0.0:50051", insecure());
      CORACLE_ASSERT(bound.ok(),
                     "the fixture cannot listen on the simulated port 50051: do not use that port elsewhere");
      channel_.emplace(runtime(), world_.address_of("server") + ":50051", insecure());
    }
    return *channel_;
  }

 private:
  sim::world world_;
  Service service_;
  coracle::server server_;
  std::optional<coracle::channel> channel_;
};

}  // namespace coracle::testing
