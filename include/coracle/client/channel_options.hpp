// channel_options: what a client says about all calls through one channel, and about its connections.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/client/balancing.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/client/resolver.hpp"
#include "coracle/client/service_config.hpp"

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

namespace coracle {

class client_observer;

// A value; builder style. Equal options say the same, which is what channel_pool goes by; resolvers, makers and
// policies are the same when they are the same object.
class channel_options {
 public:
  channel_options() noexcept {}

  // --- calls
  // What all calls have unless they say otherwise: a timeout, credentials, compression, limits of messages, wait_for_ready
  // and so on. Metadata is merged by key: a key that a call gives holds for that call, instead of all values under it here.
  channel_options& calls(call_options o) { return calls_ = std::move(o), *this; }
  // How replies may be compressed: as calls(call_options().accepted_encodings(s)). Default: all that are available.
  channel_options& accepted_encodings(encoding_set s) noexcept { return calls_.accepted_encodings(s), *this; }
  // Goes before the library's own name in the user-agent header: "my-program/1.2".
  channel_options& user_agent(std::string prefix) { return user_agent_ = std::move(prefix), *this; }

  // --- where to
  // Finds the servers instead of the target's scheme, whose text becomes :authority only.
  channel_options& resolver(std::shared_ptr<client::resolver> r) { return resolver_ = std::move(r), *this; }
  // Resolves targets "scheme:..." (lower case). A scheme of the library's own is replaced.
  channel_options& resolver_for(std::string scheme, client::resolver_maker make) {
    makers_.insert_or_assign(std::move(scheme),
                             std::make_shared<const client::resolver_maker>(std::move(make)));
    return *this;
  }
  // How long an answer of a resolver is good enough, whatever is lost meanwhile. Default 30 s, so that a
  // restart of many servers does not flood the name servers.
  channel_options& resolve_pause(duration d) noexcept { return resolve_pause_ = d, *this; }
  // How calls are spread, unless a service config says it. Default balancing::pick_first().
  channel_options& balance(coracle::balancing how) noexcept { return balancing_ = std::move(how), *this; }
  // Goes into :authority instead of the target's host and port.
  channel_options& authority(std::string name) { return authority_ = std::move(name), *this; }

  // --- calls
  // How the service's owners want it to be called, unless the resolver brings a config of its own, for whose first
  // answer calls wait.
  channel_options& service_config(coracle::service_config c) { return config_ = std::move(c), *this; }
  // false: retry and hedging policies are not gone by. Transparent retries remain (gRFC A6). Default true.
  channel_options& retries(bool on) noexcept { return retries_ = on, *this; }
  // Is told of every call and attempt; must outlive the channel's calls. Default: nobody.
  channel_options& observer(client_observer& o) noexcept { return observer_ = &o, *this; }

  // --- connections
  // Without a call for so long (at most twice as long), a loop's connections are closed, until the next call.
  // Default 30 min; duration::max(): never.
  channel_options& idle_timeout(duration d) noexcept { return idle_timeout_ = d, *this; }
  // Calls at a time on one connection, where the server allows more; others wait, within their deadlines.
  channel_options& streams_per_connection(std::uint32_t n) noexcept { return streams_max_ = n, *this; }
  // Connections to one server and loop, made one by one while calls wait for a stream (gRFC A105). Default
  // 1; a service config's connectionScaling goes before it. No more than connections_limit.
  channel_options& connections_per_server(std::uint32_t n) noexcept { return connections_ = n, *this; }
  static constexpr std::uint32_t connections_limit = 10;
  // A server that was silent for `time` while a call is open is asked by a PING; when nothing comes from it within
  // `timeout`, or TCP has no answer to what was sent for so long (gRFC A18), its connection is given up (gRFC A8).
  // Default never, for servers may take offence; at least 10 s. A server that says too_many_pings has it doubled.
  channel_options& keepalive(duration time, duration timeout = std::chrono::seconds(20),
                             bool without_calls = false) noexcept {
    keepalive_time_ = std::max<duration>(time, std::chrono::seconds(10));
    return keepalive_timeout_ = timeout, keepalive_without_calls_ = without_calls, *this;
  }
  // Servers are asked whether they serve `service` (grpc.health.v1.Health/Watch, gRFC A17; "" asks about a
  // whole server), and get calls only while they say so; one without a health service (UNIMPLEMENTED) counts
  // as one that serves. One whose answer is another error gets no calls until a later question, after a
  // pause, is answered. A service config's healthCheckConfig goes before this. Not with pick_first, whose one
  // server would be the only choice anyway.
  channel_options& health_check(std::string service) { return health_service_ = std::move(service), *this; }
  // Goes by HTTP CONNECT through "http://[user:password@]host:port" (gRFC A1), but to the names, addresses and
  // networks of `except` ("example.org,10.0.0.0/8", "*"), and never to localhost; for targets that are a host with a
  // port (dns, passthrough). Default: the environment's grpc_proxy or https_proxy, and no_grpc_proxy or no_proxy, read
  // when the channel is made (not in simulations). An empty URL: no proxy.
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
  [[nodiscard]] client_observer* observer() const noexcept { return observer_; }
  [[nodiscard]] duration idle_timeout() const noexcept { return idle_timeout_; }
  [[nodiscard]] std::uint32_t streams_per_connection() const noexcept { return streams_max_; }
  [[nodiscard]] std::uint32_t connections_per_server() const noexcept { return connections_; }

  [[nodiscard]] duration keepalive_time() const noexcept { return keepalive_time_; }
  [[nodiscard]] duration keepalive_timeout() const noexcept { return keepalive_timeout_; }
  [[nodiscard]] bool keepalive_without_calls() const noexcept { return keepalive_without_calls_; }
  [[nodiscard]] const std::optional<std::string>& health_check() const noexcept { return health_service_; }
  // Nothing: what the environment says.
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
  client_observer* observer_ = nullptr;
  bool retries_ = true;
  duration idle_timeout_ = std::chrono::minutes(30);
  duration keepalive_time_ = duration::max();
  duration keepalive_timeout_ = std::chrono::seconds(20);
  bool keepalive_without_calls_ = false;
  std::optional<std::string> health_service_;
  std::optional<std::string> proxy_;
  std::string proxy_except_;
  std::uint32_t streams_max_ = ~std::uint32_t{0};
  std::uint32_t connections_ = 1;
};
static_assert(!std::is_aggregate_v<channel_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
