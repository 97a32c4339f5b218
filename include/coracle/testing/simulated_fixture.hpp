// simulated_fixture: a service and its client on two hosts of a simulated world, where an hour takes no time.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/server/server.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace coracle::testing {

// As service_fixture, over a simulated network and with a virtual clock: sync_wait() and world().run_for() let the time
// pass, and equal seeds give equal runs. All on the test's thread. The hosts are called "server" and "client"; faults,
// partitions and further hosts are the world's (coracle/runtime/sim.hpp).
template <class Service>
class simulated_fixture {
 public:
  // Service(args...)
  template <class... Args>
  explicit simulated_fixture(std::uint64_t seed, Args&&... args)
      : world_(seed), service_(std::forward<Args>(args)...), server_(world_.host("server")) {
    server_.add(service_);
  }
  simulated_fixture(const simulated_fixture&) = delete;
  simulated_fixture& operator=(const simulated_fixture&) = delete;

  [[nodiscard]] sim::world& world() noexcept { return world_; }
  [[nodiscard]] Service& service() noexcept { return service_; }
  // For more services and interceptors, before the first channel().
  [[nodiscard]] coracle::server& server() noexcept { return server_; }
  // The client's.
  [[nodiscard]] coracle::runtime& runtime() { return world_.host("client"); }
  [[nodiscard]] coracle::channel& channel() {
    if (!channel_) {
      const status bound = server_.listen("0.0.0.0:50051", insecure());
      CORACLE_ASSERT(bound.ok(), "the simulated server has no port 50051: leave it to the fixture");
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
