// server_options: the options of a server, apart from its services and addresses.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/compress/compression.hpp"
#include "coracle/compress/encoding.hpp"
#include "coracle/rpc/criticality.hpp"
#include "coracle/rpc/keepalive_options.hpp"
#include "coracle/rpc/message_codec.hpp"
#include "coracle/server/admission_options.hpp"
#include "coracle/server/handover_options.hpp"
#include "coracle/server/memory_quota.hpp"
#include "coracle/server/rate_limit.hpp"
#include "coracle/server/server_limits.hpp"
#include "coracle/server/web_options.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle {

class load_reporter;
class server_observer;

/// How often a client may send PINGs (gRFC A8). An aggregate.
struct client_ping_limits {
  /// The minimum interval between PINGs while calls are open; 0 permits any number. Default: 5 min.
  duration min_interval = std::chrono::minutes(5);
  /// Whether that interval also holds without open calls; else the minimum is then two hours. Default: false.
  bool without_calls = false;
};

/// When a server asks a client to reconnect (gRFC A9). An aggregate.
struct connection_age {
  /// The age at which the server sends GOAWAY, with a jitter of 10 %. Default: never.
  duration max = duration::max();
  /// The time that the calls of the connection then have to end. Default: no limit.
  duration grace = duration::max();
};

/// The options of a server. A value type: set the members that differ from the defaults.
///
///   coracle::server_options options;
///   options.max_receive_bytes = 16u << 20;
///   coracle::server server(runtime, options);
class server_options {
 public:
  /// All defaults.
  server_options() noexcept {}
  /// The maximum size of a request message in bytes; a larger one ends its call with RESOURCE_EXHAUSTED.
  /// Default: 4 MiB, as in other implementations of gRPC.
  std::uint32_t max_receive_bytes = 4u << 20;
  /// The maximum size of a reply message in bytes; a larger one is not sent and ends its call with
  /// RESOURCE_EXHAUSTED. Default: no limit, as in other implementations of gRPC.
  std::uint32_t max_send_bytes = std::numeric_limits<std::uint32_t>::max();
  /// How replies are compressed for clients that accept the encoding (grpc-accept-encoding); other clients
  /// get them uncompressed. A handler may override it: server_context::compression(). Default: no
  /// compression, whether or not the requests are compressed.
  coracle::compression compression;
  /// The encodings in which requests may be compressed. A request in another encoding ends its call with
  /// UNIMPLEMENTED and the list of the accepted encodings (grpc-accept-encoding). Encodings that are not
  /// available() are ignored. Default: all that are available.
  encoding_set accepted_encodings = encoding_set::all();
  /// Codecs beside protobuf's binary format, such as &coracle::json_codec(). The server also accepts requests
  /// with the content-type application/grpc+NAME, where NAME is a codec's name, and replies in the same
  /// format. Requests with an unknown codec get HTTP status 415. The codecs must outlive the server: make
  /// them objects with static lifetime, as json_codec() is. Default: none.
  std::vector<const message_codec*> codecs;
  /// The protocols beside gRPC, and the web pages that may call. Default: gRPC-Web and Connect answer, pages
  /// of other origins are rejected.
  web_options web;
  /// How long the server goes on serving, new connections included, after SIGTERM, SIGINT or stop(), before
  /// it drains. Meanwhile it reports NOT_SERVING (readiness; see health_service), and registrations such as
  /// etcd_registration are withdrawn, so that clients, load balancers and Kubernetes stop sending calls
  /// before connections are refused. A second signal ends the wait. server::drain() does not wait. Default:
  /// 0.
  duration leave_time = duration::zero();

  /// How long a drain waits for running calls before it cancels them. Default: 30 s, which is the time that
  /// Kubernetes gives a container to terminate.
  duration drain_grace = std::chrono::seconds(30);

  /// Whether other servers may listen on the same addresses and ports, such as the next process of a
  /// restart (SO_REUSEPORT): the kernel distributes new connections among them. All of them must set it, in
  /// processes of one user. UNIX sockets are never shared. Default: false.
  bool reuse_port = false;

  /// How the next process takes the listening sockets over, so that an upgrade loses no call
  /// (coracle/server/handover_options.hpp). Default: none.
  std::optional<handover_options> handover;

  /// An observer that is notified of every call (coracle/server/server_observer.hpp). The server and its
  /// calls keep it. Default: none.
  std::shared_ptr<server_observer> observer;
  /// Measures what every call costs, and sends it to clients in the trailing metadata `server-timing`, in the
  /// format of W3C Server Timing with milliseconds: `running;dur=0.021, messages;dur=0.4, room;dur=0,
  /// calls;dur=3.1, other;dur=0.01, runs;desc=3, frames;desc=5, heap-blocks;desc=0, received;desc=120,
  /// sent;desc=80`. The names stand for the members of coracle::call_cost, `received` and `sent` for bytes of
  /// messages. Clients learn from it how the server works, and each call takes about twice the library's
  /// time: for tests, and for networks of your own. Default: false, and one of 101 calls is measured, for
  /// server_context::cost().
  bool cost_trailers = false;
  /// The load of the server (coracle/server/load_reporter.hpp), which is sent with each call, in the trailing
  /// metadata `endpoint-load-metrics-bin` of gRFC A51, merged with what the handler has recorded in
  /// server_context::load(). Also counts calls for load_reporter::measure_calls(). The server and its calls
  /// keep it. Default: none, and calls report only what their handlers have recorded.
  std::shared_ptr<load_reporter> load;
  /// Whether calls carry what `load` has. False: only streams do (orca_service). Default: true.
  bool load_trailers = true;
  /// The highest criticality that clients may use: calls of a higher one count as of this one, also in the
  /// calls that their handlers make. Default: critical; with critical_plus the server trusts its clients.
  criticality max_criticality = criticality::critical;
  /// Overload protection: the server rejects calls that it cannot serve in time. Default: none, and every
  /// call is served that `limits` and `memory` permit; protect() sets it.
  std::optional<admission_options> admission;
  /// Turns on every protection that may reject calls of a server that seems to be healthy: sets `admission`
  /// with its defaults, if it is not set. Returns this object.
  server_options& protect() {
    if (!admission) admission.emplace();
    return *this;
  }
  /// How many calls a second the server accepts (coracle/server/rate_limit.hpp). A call must pass all that
  /// apply to it; one that a limit refuses takes nothing of the others. The constructor of the server throws
  /// usage_error if one is invalid. Default: none.
  std::vector<rate_limit> rate_limits;
  /// What clients may use of the server concurrently. Default: the defaults of server_limits.
  server_limits limits;
  /// The memory that all connections together may hold because of their peers.
  ///
  /// Default, for each server: 1 GiB, or half of the memory that the system lets the process use, if that is
  /// less. The system's limit is the lowest of memory.max and memory.high (cgroup v2) and
  /// memory.limit_in_bytes (cgroup v1) of the process's cgroup and those above it, and RLIMIT_AS. The server
  /// logs the default that it chooses and the reason at level info. In a simulation the default is 1 GiB.
  std::optional<memory_quota> memory;

  // --- connections (gRFC A8, A9; the defaults are theirs)
  /// Sends a PING to a client that was silent for `time`, with or without open calls. Default: 2 h, and 20 s
  /// for the answer.
  keepalive_options keepalive{.time = std::chrono::hours(2)};
  /// Keepalive enforcement: how often a client may send PINGs. Sending data resets the count of PINGs that
  /// came too early; the third one closes the connection: GOAWAY, ENHANCE_YOUR_CALM, "too_many_pings".
  /// Default: 5 min.
  client_ping_limits client_pings;
  /// The time after which the server sends GOAWAY on a connection that has no calls. Default: never.
  duration max_connection_idle = duration::max();
  /// The age after which the server sends GOAWAY on a connection, so that clients reconnect through a load
  /// balancer. Default: never.
  connection_age max_connection_age;
};
static_assert(!std::is_aggregate_v<server_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
