// channel_options: the options of a channel: its connections, and the defaults of its calls.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/client/balancing.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/client/call_protocol.hpp"
#include "coracle/client/observe_channels.hpp"
#include "coracle/client/resolver.hpp"
#include "coracle/client/rest_methods.hpp"
#include "coracle/client/retry_budget.hpp"
#include "coracle/client/service_config.hpp"
#include "coracle/net/address.hpp"
#include "coracle/rpc/keepalive_options.hpp"

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
class http_observer;

/// The options of a channel. A value type: set the members that differ from the defaults.
///
///   coracle::channel_options options;
///   options.calls.timeout = 5s;
///   options.keepalive = {.time = 30s};
///   const coracle::channel channel(runtime, "dns:///movies:443", credentials, options);
///
/// channel_pool shares a channel between users with equal options. Resolvers, resolver makers, balancing
/// policies, observers, their factories and interceptors are equal if they are the same object.
class channel_options {
 public:
  /// All defaults.
  channel_options() noexcept {}

  // --- calls
  /// The defaults of all calls: timeout, credentials, compression, message size limits, wait_for_ready and so
  /// on. The options of a call take precedence. Metadata is merged by key: a key that a call sets replaces
  /// all values under that key here. Default: the defaults of call_options.
  call_options calls;
  /// A prefix such as "my-program/1.2" of the user-agent header, before the library's own name. Default:
  /// none.
  std::string user_agent;

  // --- the protocol
  /// The protocol of the calls; see call_protocol. Default: gRPC.
  call_protocol protocol = call_protocol::grpc;
  /// The version of HTTP. gRPC requires HTTP/2; the other protocols may use either. Default: HTTP/2.
  coracle::http_version http_version = coracle::http_version::http2;
  /// The methods that can be called with call_protocol::rest, which requires them. Default: none.
  rest_methods rest;
  /// Whether unary calls of the Connect protocol are GET requests, which caches may answer, if the method's
  /// .proto sets idempotency_level = NO_SIDE_EFFECTS. Default: false.
  bool connect_get = false;
  /// The maximum length of the path and query of such a request; a call with a longer one is a POST request.
  /// Default: 8000, which RFC 9110 4.1 recommends that every server and proxy supports.
  std::uint32_t connect_get_target_bytes_max = 8000;

  // --- finding the servers
  /// A resolver that replaces the one of the target's scheme. The text of the target is then used only for
  /// :authority. Default: none.
  std::shared_ptr<client::resolver> resolver;
  /// Adds a resolver for targets "scheme:..." (in lower case). It may replace a scheme of the library.
  void add_resolver(std::string scheme, client::resolver_maker make) {
    makers_.insert_or_assign(std::move(scheme),
                             std::make_shared<const client::resolver_maker>(std::move(make)));
  }
  /// The minimum time between a resolver's result and the next resolution, even if connections are lost
  /// meanwhile. Default: 30 s, so that a restart of many servers does not flood the name servers.
  duration resolve_pause = std::chrono::seconds(30);
  /// The load balancing policy, unless a service config sets one. Default: balancing::pick_first().
  coracle::balancing balance = balancing::pick_first();
  /// The :authority, instead of the target's host and port. Default: empty, which is the target's.
  std::string authority;

  // --- overload
  /// Whether the channel itself refuses calls while its servers refuse most of them, with RESOURCE_EXHAUSTED
  /// and without sending anything, so that servers that are overloaded recover. Default: false.
  ///
  /// Of the attempts of the last 2 s, on each loop, those that ended with UNAVAILABLE, RESOURCE_EXHAUSTED or
  /// DEADLINE_EXCEEDED before response headers arrived were not accepted. While more than half of them were
  /// not, a call is refused with the probability (attempts - 2 * accepted) / (attempts + 8), where calls that
  /// were refused count as attempts. Attempts without a connection do not count, nor do those that the client
  /// ends itself, except by their deadline. If most attempts fail whatever the load is, for example because
  /// two of three servers do, nearly all calls are refused. Source: Site Reliability Engineering, chapter 21,
  /// "Client-Side Throttling".
  bool throttling = false;

  /// The maximum number of calls that wait on each loop: for the resolver's first result, for a connection or
  /// for a stream. Default: no maximum, because how many are too many depends on the program; what limits
  /// them then is their deadlines and memory.
  ///
  /// When as many calls wait, another one that begins to wait displaces the least critical of them, and of
  /// equally critical ones the one that has waited longest, whose caller is the most likely to have given up.
  /// That is the new call itself if the others are more critical. The displaced call ends with
  /// RESOURCE_EXHAUSTED, wait_for_ready or not, and no policy retries it. An attempt whose call has another
  /// one in progress, as a hedge has, counts as a call, but displaces none: it ends itself, and its call goes
  /// on. With 0, a call that would have to wait fails at once.
  std::uint32_t max_waiting_calls = ~std::uint32_t{0};

  /// Limits the retries and hedges of this channel and of all others with the same object. Default: none.
  std::shared_ptr<coracle::retry_budget> retry_budget;

  // --- service config, retries and observer
  /// The service config that applies if the resolver provides none. Calls wait for the resolver's first
  /// result. Default: an empty one.
  coracle::service_config service_config;
  /// Whether a dns target has the service config of its TXT records (gRFC A2): one choice of those in
  /// "_grpc_config.HOST" that begins with "grpc_config=", by clientLanguage ("c++"), clientHostName and
  /// percentage. Names alone have one, localhost and IP addresses do not (gRFC A10). If there is none,
  /// service_config applies. A party that can change those records can change how calls are retried, timed
  /// out and balanced. Default: false.
  bool dns_service_config = false;
  /// Whether retry and hedging policies apply. Transparent retries are always made (gRFC A6). Default: true.
  bool retries = true;
  /// An observer, which is notified of every call and attempt. The channel and its calls keep it. Default:
  /// none.
  std::shared_ptr<client_observer> observer;
  /// Functions that make further observers, each for the target of the channel, when the channel is made. See
  /// observe_channels() for all channels of a runtime. Default: none.
  std::vector<std::shared_ptr<const channel_observer_factory>> observer_factories;
  /// An observer of the header fields in HTTP. Default: none.
  std::shared_ptr<coracle::http_observer> http_observer;
  /// Interceptors that run around every call of the channel, the first one outermost. The channel and its
  /// calls keep them. channel::with_interceptors() adds others for some of the stubs. Default: none.
  std::vector<std::shared_ptr<client_interceptor>> interceptors;

  // --- connections
  /// The time without a call after which a loop closes its connections, until the next call. It may take up
  /// to twice as long; duration::max() disables it. Default: 30 min.
  duration idle_timeout = std::chrono::minutes(30);
  /// The maximum number of concurrent calls on one connection, if the server allows more. Further calls wait
  /// within their deadlines. Default: no limit.
  std::uint32_t streams_per_connection = ~std::uint32_t{0};
  /// The maximum number of connections to one server from each loop, at most connections_limit. The channel
  /// adds one at a time, while calls wait for a stream (gRFC A105). The connectionScaling of a service config
  /// takes precedence. Default: 1.
  std::uint32_t connections_per_server = 1;
  /// The maximum of connections_per_server; larger values count as this.
  static constexpr std::uint32_t connections_limit = 10;
  /// The maximum number of connections to one server from each loop with HTTP/1.1, where a call occupies a
  /// connection until it ends, at most http1_connections_limit. The channel adds one at a time, while calls
  /// wait. Further calls wait within their deadlines. Default: 32.
  std::uint32_t http1_connections_per_server = 32;
  /// The maximum of http1_connections_per_server; larger values count as this.
  static constexpr std::uint32_t http1_connections_limit = 1024;
  /// The time after which an unused connection of HTTP/1.1 is closed. It is shorter than the 75 s of most
  /// servers, so that a call rarely uses a connection that its server is closing. Default: 60 s.
  duration http1_idle_time = std::chrono::seconds(60);
  /// Enables keepalive, for instance `{.time = 30s}`: if a server sends nothing for `time` while a call is
  /// open, the channel sends a PING. Servers may reject frequent PINGs: `time` is at least 10 s, and doubles
  /// when a server replies with too_many_pings. Default: no keepalive.
  keepalive_options keepalive;
  /// Binds the connections to a local address, such as net::address::parse("10.0.0.2:0") on a machine with
  /// several networks.
  ///
  /// Its port is normally 0, for any free port; with another port there can be only one connection to a
  /// server. Servers of the other IP version cannot be reached, and an address that this machine does not
  /// have fails every connection; the status of calls then says so. The connections to a proxy are bound,
  /// too. Does not apply to the connections of a connector. Default: none, the system chooses.
  net::address local_address;
  /// Checks the health of this service on every server (grpc.health.v1.Health/Watch, gRFC A17); "" stands for
  /// the server as a whole. Default: no check.
  ///
  /// A server gets calls only while it reports SERVING. A server without a health service (UNIMPLEMENTED)
  /// counts as serving. After any other error the server gets no calls, until the check is repeated after a
  /// pause and succeeds. The healthCheckConfig of a service config takes precedence. pick_first does not
  /// check health, since it uses only one server. HTTP/1.1 has no check.
  std::optional<std::string> health_check;
  /// Connects through the HTTP proxy "http://[user:password@]host:port" with CONNECT (gRFC A1).
  ///
  /// The proxy applies to targets that are a host with a port (dns, passthrough). An empty URL means no
  /// proxy. Default: the environment variables grpc_proxy or https_proxy, and no_grpc_proxy or no_proxy, read
  /// when the channel is made (not in simulations).
  std::optional<std::string> proxy;
  /// The names, addresses and networks that a channel with a `proxy` connects to directly:
  /// "example.org,10.0.0.0/8", or "*". localhost is always direct. Default: empty.
  std::string proxy_except;

  friend bool operator==(const channel_options&, const channel_options&) = default;

  /// @cond  For the library.
  [[nodiscard]] const auto& resolver_makers() const noexcept { return makers_; }
  /// @endcond

 private:
  std::map<std::string, std::shared_ptr<const client::resolver_maker>, std::less<>> makers_;
};
static_assert(!std::is_aggregate_v<channel_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
