// inbound: the connections and calls of a server's listener that a control plane configures (gRFC A36).
#pragma once

#include "coracle/coro/event.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/security/credentials.hpp"
#include "coracle/server/server_interceptor.hpp"
#include "coracle/tls/server_options.hpp"
#include "coracle/xds/xds_server.hpp"
#include "server/server_state.hpp"
#include "xds/resource/listener.hpp"
#include "xds/security/retried_credentials.hpp"
#include "xds/serving/server_client.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace coracle::xds {

// Before what memory was missing for is tried again.
inline constexpr duration pause_without_memory = std::chrono::seconds(1);

// Those of an xds_server, with the bootstrap or why there is none.
class inbound_options {
 public:
  inbound_options(xds_server_options options, result<std::shared_ptr<const bootstrap>> read)
      : of(std::move(options)), from(std::move(read)), mesh(std::make_shared<const xds_options>(of.mesh)) {}
  const xds_server_options of;
  const result<std::shared_ptr<const bootstrap>> from;
  const std::shared_ptr<const xds_options> mesh;
};

// The routes of a name, which change while connections use them. Any thread.
class inbound_routes {
 public:
  using latest = result<std::shared_ptr<const route_configuration>>;

  void set(latest routes) {
    const std::lock_guard lock(mutex_);
    routes_ = std::move(routes);
  }
  [[nodiscard]] latest get() const {
    const std::lock_guard lock(mutex_);
    return routes_;
  }

 private:
  mutable std::mutex mutex_;
  latest routes_ = status::unavailable("the routes are not known yet");
};

// A Listener in use, with the credentials and routes of its chains. Does not change, but for the routes.
struct inbound_config {
  struct chain {
    std::shared_ptr<retried_credentials<tls::server_options, security::server_security>> credentials;
    std::shared_ptr<const inbound_routes> routes;
  };
  std::shared_ptr<const listener> of;
  std::vector<chain> chains;  // as in inbound_listener::chains
};

// What an accepted connection keeps, as its mark.
struct inbound_mark {
  std::shared_ptr<const inbound_config> config;
  std::size_t chain;
};

// Chooses the chain of each connection that a listener accepts. Any loop.
class inbound final : public security::server_security {
 public:
  explicit inbound(server_credentials fallback) : fallback_(std::move(fallback)) {}

  std::unique_ptr<net::duplex> secure(loop& on, std::unique_ptr<net::duplex> raw) override;
  // Of the fallback, and then of the chains.
  status reload() override;
  security::certificates_in_use certificates(loop& on) override;

  // Whether the control plane may say how connections are secured.
  [[nodiscard]] bool yields() const noexcept {
    return fallback_.secure() && fallback_.security()->yields_to_control_plane();
  }
  // Null: it does not serve.
  void use(std::shared_ptr<const inbound_config> config) {
    const std::lock_guard lock(mutex_);
    config_ = std::move(config);
  }
  [[nodiscard]] std::shared_ptr<const inbound_config> config() const {
    const std::lock_guard lock(mutex_);
    return config_;
  }

 private:
  [[nodiscard]] std::vector<server_credentials> all_credentials() const;

  const server_credentials fallback_;
  mutable std::mutex mutex_;
  std::shared_ptr<const inbound_config> config_;
};

// Lets calls pass whose route says so.
class inbound_router final : public server_interceptor {
 public:
  task<status> intercept(server_context& context, next_handler next) override;
};

// Follows the Listener of an address, and gives it to an `inbound`. On loop 0 of the server.
class inbound_watcher {
 public:
  inbound_watcher(std::shared_ptr<const inbound_options> options, std::shared_ptr<inbound> to,
                  std::vector<net::address> addresses, std::weak_ptr<server_internal::server_state> server,
                  std::string name);
  ~inbound_watcher();
  inbound_watcher(const inbound_watcher&) = delete;
  inbound_watcher& operator=(const inbound_watcher&) = delete;

  // Until the server drains.
  [[nodiscard]] static task<> run(std::shared_ptr<inbound_watcher> self);

 private:
  struct routes_of_name {
    std::optional<watch_id> watch{};
    bool known = false;
    bool used = false;
    std::shared_ptr<inbound_routes> routes = std::make_shared<inbound_routes>();
  };

  [[nodiscard]] task<> follow();
  // Joins another one when one has failed.
  [[nodiscard]] task<> have_client();
  void watch_all();
  void watch_routes(const std::string& name, routes_of_name& to);
  void cancel_all();
  void look(scope& drains);
  [[nodiscard]] bool has_all_routes(const inbound_listener& of);
  [[nodiscard]] std::shared_ptr<const inbound_config> config_of(std::shared_ptr<const listener> of);
  [[nodiscard]] status address_problem(const inbound_listener& of) const;
  void use(std::shared_ptr<const inbound_config> config, status mode, scope& drains);
  [[nodiscard]] task<> end_after_grace(std::weak_ptr<const inbound_config> config);
  void end_connections(std::shared_ptr<const inbound_config> of, bool at_once);

  loop& here_;
  const std::shared_ptr<const inbound_options> options_;
  const std::shared_ptr<inbound> to_;
  const std::vector<net::address> addresses_;
  const std::weak_ptr<server_internal::server_state> server_;
  const std::string name_;  // of the Listener
  event<> changed_;
  event<> ended_;
  std::shared_ptr<server_client> client_;
  std::optional<watch_id> watch_;
  bool awaits_listener_ = false;  // an error of it is passed over until there is one
  std::optional<result<std::shared_ptr<const listener>>> latest_;
  std::map<std::string, routes_of_name, std::less<>> routes_;
  std::optional<status> mode_;  // OK: it serves; nothing: that is not known yet
};

}  // namespace coracle::xds
