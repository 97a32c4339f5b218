// channel_options: the options of a channel: its connections, and the defaults of its calls.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/client/balancing.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/client/resolver.hpp"
#include "coracle/client/service_config.hpp"
#include "coracle/net/address.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle {

class client_interceptor;
class client_observer;

/// The options of a channel. A value type, in builder style.
///
/// channel_pool shares a channel between users with equal options. Resolvers, resolver makers, balancing
/// policies, observers and interceptors are equal if they are the same object.
class channel_options {
 public:
  channel_options() noexcept {}

  // --- calls
  /// Sets the defaults of all calls: timeout, credentials, compression, message size limits, wait_for_ready
  /// and so on.
  ///
  /// The options of a call take precedence. Metadata is merged by key: a key that a call sets replaces all
  /// values under that key here.
  channel_options& calls(call_options o) { return calls_ = std::move(o), *this; }
  /// Sets the encodings that replies may use: calls(call_options().accepted_encodings(s)). Default: all
  /// available ones.
  channel_options& accepted_encodings(encoding_set s) noexcept { return calls_.accepted_encodings(s), *this; }
  /// Sets a prefix such as "my-program/1.2" of the user-agent header, before the library's own name.
  channel_options& user_agent(std::string prefix) { return user_agent_ = std::move(prefix), *this; }

  // --- finding the servers
  /// Sets a resolver that replaces the one of the target's scheme. The text of the target is then used only
  /// for :authority.
  channel_options& resolver(std::shared_ptr<client::resolver> r) { return resolver_ = std::move(r), *this; }
  /// Adds a resolver for targets "scheme:..." (in lower case). It may replace a scheme of the library.
  channel_options& resolver_for(std::string scheme, client::resolver_maker make) {
    makers_.insert_or_assign(std::move(scheme),
                             std::make_shared<const client::resolver_maker>(std::move(make)));
    return *this;
  }
  /// Sets the minimum time between a resolver's result and the next resolution, even if connections are lost
  /// meanwhile. Default 30 s, so that a restart of many servers does not flood the name servers.
  channel_options& resolve_pause(duration d) noexcept { return resolve_pause_ = d, *this; }
  /// Sets the load balancing policy, unless a service config sets one. Default balancing::pick_first().
  channel_options& balance(coracle::balancing policy) noexcept {
    return balancing_ = std::move(policy), *this;
  }
  /// Sets :authority, instead of the target's host and port.
  channel_options& authority(std::string name) { return authority_ = std::move(name), *this; }

  // --- service config, retries and observer
  /// Sets the service config that applies if the resolver provides none. Calls wait for the resolver's first
  /// result.
  channel_options& service_config(coracle::service_config c) { return config_ = std::move(c), *this; }
  /// Sets whether retry and hedging policies apply. Transparent retries are always made (gRFC A6). Default
  /// true.
  channel_options& retries(bool on) noexcept { return retries_ = on, *this; }
  /// Sets an observer, which is notified of every call and attempt. The channel and its calls keep it.
  /// Default none.
  channel_options& observer(std::shared_ptr<client_observer> o) noexcept {
    return observer_ = std::move(o), *this;
  }
  /// Sets interceptors that run around every call of the channel, the first one outermost. The channel and
  /// its calls keep them. channel::with_interceptors() adds others for some of the stubs. Default none.
  channel_options& interceptors(std::vector<std::shared_ptr<client_interceptor>> all) noexcept {
    return interceptors_ = std::move(all), *this;
  }

  // --- connections
  /// Sets the time without a call after which a loop closes its connections, until the next call. It may take
  /// up to twice as long. Default 30 min; duration::max() disables it.
  channel_options& idle_timeout(duration d) noexcept { return idle_timeout_ = d, *this; }
  /// Limits the concurrent calls on one connection, if the server allows more. Further calls wait within
  /// their deadlines.
  channel_options& streams_per_connection(std::uint32_t n) noexcept { return streams_max_ = n, *this; }
  /// Sets the maximum number of connections to one server from each loop. The channel adds one at a time,
  /// while calls wait for a stream (gRFC A105). Default 1, at most connections_limit. The connectionScaling
  /// of a service config takes precedence.
  channel_options& connections_per_server(std::uint32_t n) noexcept { return connections_ = n, *this; }
  static constexpr std::uint32_t connections_limit = 10;
  /// Enables keepalive (gRFC A8): if a server sends nothing for `time` while a call is open, the channel
  /// sends a PING.
  ///
  /// It closes the connection if nothing arrives within `timeout`, or if TCP gets no acknowledgement of sent
  /// data for that long (gRFC A18). `without_calls` sends PINGs on connections without calls, too. Default:
  /// no keepalive, because servers may reject frequent PINGs; the minimum of `time` is 10 s. It doubles when
  /// a server replies with too_many_pings.
  channel_options& keepalive(duration time, duration timeout = std::chrono::seconds(20),
                             bool without_calls = false) noexcept {
    keepalive_time_ = std::max<duration>(time, std::chrono::seconds(10));
    return keepalive_timeout_ = timeout, keepalive_without_calls_ = without_calls, *this;
  }
  /// Binds the connections to a local address, such as net::address::parse("10.0.0.2:0") on a machine with
  /// several networks.
  ///
  /// Its port is normally 0, for any free port; with another port there can be only one connection to a
  /// server. Servers of the other IP version cannot be reached, and an address that this machine does not
  /// have fails every connection; the status of calls then says so. The connections to a proxy are bound,
  /// too. Does not apply to the connections of a connector. Default: none, the system chooses.
  channel_options& local_address(net::address a) { return local_ = std::move(a), *this; }
  /// Checks the health of `service` on every server (grpc.health.v1.Health/Watch, gRFC A17); "" stands for
  /// the server as a whole.
  ///
  /// A server gets calls only while it reports SERVING. A server without a health service (UNIMPLEMENTED)
  /// counts as serving. After any other error the server gets no calls, until the check is repeated after a
  /// pause and succeeds. The healthCheckConfig of a service config takes precedence. pick_first does not
  /// check health, since it uses only one server.
  channel_options& health_check(std::string service) { return health_service_ = std::move(service), *this; }
  /// Connects through the HTTP proxy "http://[user:password@]host:port" with CONNECT (gRFC A1).
  ///
  /// `except` lists the names, addresses and networks to connect to directly ("example.org,10.0.0.0/8", or
  /// "*"); localhost is always direct. The proxy applies to targets that are a host with a port (dns,
  /// passthrough). Default: the environment variables grpc_proxy or https_proxy, and no_grpc_proxy or
  /// no_proxy, read when the channel is made (not in simulations). An empty URL means no proxy.
  channel_options& proxy(std::string url, std::string except = {}) {
    return proxy_ = std::move(url), proxy_except_ = std::move(except), *this;
  }

  [[nodiscard]] const call_options& calls() const noexcept { return calls_; }
  [[nodiscard]] const std::string& user_agent() const noexcept { return user_agent_; }
  [[nodiscard]] const std::shared_ptr<client::resolver>& resolver() const noexcept { return resolver_; }
  [[nodiscard]] const auto& resolver_makers() const noexcept { return makers_; }
  [[nodiscard]] duration resolve_pause() const noexcept { return resolve_pause_; }
  [[nodiscard]] const coracle::balancing& balance() const noexcept { return balancing_; }
  [[nodiscard]] const std::string& authority() const noexcept { return authority_; }
  [[nodiscard]] const coracle::service_config& service_config() const noexcept { return config_; }
  [[nodiscard]] bool retries() const noexcept { return retries_; }
  [[nodiscard]] const std::shared_ptr<client_observer>& observer() const noexcept { return observer_; }
  [[nodiscard]] const std::vector<std::shared_ptr<client_interceptor>>& interceptors() const noexcept {
    return interceptors_;
  }
  [[nodiscard]] duration idle_timeout() const noexcept { return idle_timeout_; }
  [[nodiscard]] std::uint32_t streams_per_connection() const noexcept { return streams_max_; }
  [[nodiscard]] std::uint32_t connections_per_server() const noexcept { return connections_; }

  [[nodiscard]] const net::address& local_address() const noexcept { return local_; }
  [[nodiscard]] duration keepalive_time() const noexcept { return keepalive_time_; }
  [[nodiscard]] duration keepalive_timeout() const noexcept { return keepalive_timeout_; }
  [[nodiscard]] bool keepalive_without_calls() const noexcept { return keepalive_without_calls_; }
  [[nodiscard]] const std::optional<std::string>& health_check() const noexcept { return health_service_; }
  /// Returns the proxy's URL; nothing if the environment determines it.
  [[nodiscard]] const std::optional<std::string>& proxy() const noexcept { return proxy_; }
  [[nodiscard]] const std::string& proxy_except() const noexcept { return proxy_except_; }

  friend bool operator==(const channel_options&, const channel_options&) = default;

 private:
  call_options calls_;
  std::string user_agent_;
  std::shared_ptr<client::resolver> resolver_;
  std::map<std::string, std::shared_ptr<const client::resolver_maker>, std::less<>> makers_;
  duration resolve_pause_ = std::chrono::seconds(30);
  coracle::balancing balancing_ = balancing::pick_first();
  std::string authority_;
  coracle::service_config config_;
  std::shared_ptr<client_observer> observer_;
  std::vector<std::shared_ptr<client_interceptor>> interceptors_;
  bool retries_ = true;
  duration idle_timeout_ = std::chrono::minutes(30);
  duration keepalive_time_ = duration::max();
  duration keepalive_timeout_ = std::chrono::seconds(20);
  bool keepalive_without_calls_ = false;
  net::address local_;
  std::optional<std::string> health_service_;
  std::optional<std::string> proxy_;
  std::string proxy_except_;
  std::uint32_t streams_max_ = ~std::uint32_t{0};
  std::uint32_t connections_ = 1;
};
static_assert(!std::is_aggregate_v<channel_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
