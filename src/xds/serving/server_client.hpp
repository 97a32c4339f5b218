// server_client: the client of control planes of the listeners in a runtime.
#pragma once

#include "coracle/coro/event.hpp"
#include "xds/ads/ads_driver.hpp"
#include "xds/ads/shared_clients.hpp"
#include "xds/security/plane_channels.hpp"
#include "xds/status/client_registry.hpp"

#include <exception>
#include <memory>

namespace coracle::xds {

// Its users are on the loop of run().
class server_client final : public shared_client {
 public:
  // The one with the same bootstrap and options. On loop 0.
  [[nodiscard]] static std::shared_ptr<server_client> join(const std::shared_ptr<const bootstrap>& from,
                                                           const std::shared_ptr<const xds_options>& options);
  server_client(std::shared_ptr<const bootstrap> from, const xds_options& options);

  task<> run() override { return driver_.run(); }
  void ended(std::exception_ptr why) noexcept override {
    if (why) failed_.set();
  }

  [[nodiscard]] ads_driver& driver() noexcept { return driver_; }
  // run() has ended, but was not stopped: no event follows.
  [[nodiscard]] event<>& failed() noexcept { return failed_; }

 private:
  plane_channels planes_;
  ads_driver driver_;
  const client_registry::membership shown_{"#server", driver_.client()};
  event<> failed_;
};

}  // namespace coracle::xds
