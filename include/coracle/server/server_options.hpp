// server_options: the options of a server, apart from its services and addresses.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/compress/compression.hpp"
#include "coracle/compress/encoding.hpp"
#include "coracle/rpc/message_codec.hpp"
#include "coracle/server/memory_quota.hpp"
#include "coracle/server/server_limits.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle {

class server_observer;

/// The options of a server, in builder style.
class server_options {
 public:
  server_options() noexcept {}
  /// Maximum size of a request message in bytes; a larger one ends its call with RESOURCE_EXHAUSTED. Default
  /// 4 MiB, as in other implementations of gRPC.
  server_options& max_receive_bytes(std::uint32_t n) noexcept { return max_receive_bytes_ = n, *this; }
  /// Maximum size of a reply message in bytes; a larger one is not sent and ends its call with
  /// RESOURCE_EXHAUSTED. No limit by default, as in other implementations of gRPC.
  server_options& max_send_bytes(std::uint32_t n) noexcept { return max_send_bytes_ = n, *this; }
  /// How replies are compressed for clients that accept the encoding (grpc-accept-encoding); other clients
  /// get them uncompressed. A handler may override it: server_context::compression(). Default: no
  /// compression, whether or not the requests are compressed.
  server_options& compression(const coracle::compression& c) noexcept { return compression_ = c, *this; }
  /// The encodings in which requests may be compressed. A request in another encoding ends its call with
  /// UNIMPLEMENTED and the list of the accepted encodings (grpc-accept-encoding). Encodings that are not
  /// available() are ignored. Default: all that are available.
  server_options& accepted_encodings(encoding_set s) noexcept { return accepted_ = s, *this; }
  /// Also accepts requests with the content-type application/grpc+NAME, where NAME is the codec's name, and
  /// replies in the same format; for example codec(coracle::json_codec()). Requests with an unknown codec get
  /// HTTP status 415. The codec must outlive the server: make it an object with static lifetime, as
  /// json_codec() is.
  server_options& codec(const message_codec& c) { return codecs_.push_back(&c), *this; }
  /// How long a drain waits for running calls before it cancels them. Default 30 s, which is the time that
  /// Kubernetes gives a container to terminate.
  server_options& drain_grace(duration d) noexcept { return drain_grace_ = d, *this; }

  /// Sets the observer that is notified of every call (coracle/server/server_observer.hpp). The server and
  /// its calls keep it. Default: none.
  server_options& observer(std::shared_ptr<server_observer> o) noexcept {
    return observer_ = std::move(o), *this;
  }
  /// Sets what clients may use of the server concurrently: see server_limits.
  server_options& limits(const server_limits& l) noexcept { return limits_ = l, *this; }
  /// Sets the memory that all connections together may hold because of their peers.
  ///
  /// Default, for each server: 1 GiB, or half of the memory that the system lets the process use, if that is
  /// less. The system's limit is the lowest of memory.max and memory.high (cgroup v2) and
  /// memory.limit_in_bytes (cgroup v1) of the process's cgroup and those above it, and RLIMIT_AS. The server
  /// logs the default that it chooses and the reason at level info. In a simulation the default is 1 GiB.
  server_options& memory(memory_quota q) { return memory_ = std::move(q), *this; }

  // --- connections (gRFC A8, A9; the defaults are theirs)
  /// Sends a PING to a client that was silent for `time`, with or without open calls. If nothing arrives
  /// within `timeout`, or TCP gets no acknowledgement of sent data for that long (gRFC A18), the server
  /// closes the connection. Default 2 h and 20 s.
  server_options& keepalive(duration time, duration timeout = std::chrono::seconds(20)) noexcept {
    return keepalive_time_ = time, keepalive_timeout_ = timeout, *this;
  }
  /// Keepalive enforcement (gRFC A8): the minimum interval between PINGs of a client. Without open calls the
  /// minimum is two hours, unless `without_calls` is set. Sending data resets the count of PINGs that came
  /// too early; the third one closes the connection: GOAWAY, ENHANCE_YOUR_CALM, "too_many_pings". Default 5
  /// min and false; 0 permits any number.
  server_options& client_pings(duration min_interval, bool without_calls = false) noexcept {
    return ping_interval_ = min_interval, pings_without_calls_ = without_calls, *this;
  }
  /// Sends GOAWAY on a connection that has had no calls for `d`. Default: never.
  server_options& max_connection_idle(duration d) noexcept { return max_connection_idle_ = d, *this; }
  /// Sends GOAWAY on a connection of age `d`, with a jitter of 10 %, and gives its calls `grace` to end, so
  /// that clients reconnect through a load balancer. Default: never, and no limit for `grace`.
  server_options& max_connection_age(duration d, duration grace = duration::max()) noexcept {
    return max_connection_age_ = d, max_connection_age_grace_ = grace, *this;
  }

  [[nodiscard]] const std::shared_ptr<server_observer>& observer() const noexcept { return observer_; }
  [[nodiscard]] const server_limits& limits() const noexcept { return limits_; }
  /// Returns the quota that was set; empty for the default.
  [[nodiscard]] const std::optional<memory_quota>& memory() const noexcept { return memory_; }
  [[nodiscard]] duration keepalive_time() const noexcept { return keepalive_time_; }
  [[nodiscard]] duration keepalive_timeout() const noexcept { return keepalive_timeout_; }
  [[nodiscard]] duration client_ping_interval() const noexcept { return ping_interval_; }
  [[nodiscard]] bool client_pings_without_calls() const noexcept { return pings_without_calls_; }
  [[nodiscard]] duration max_connection_idle() const noexcept { return max_connection_idle_; }
  [[nodiscard]] duration max_connection_age() const noexcept { return max_connection_age_; }
  [[nodiscard]] duration max_connection_age_grace() const noexcept { return max_connection_age_grace_; }
  [[nodiscard]] std::uint32_t max_receive_bytes() const noexcept { return max_receive_bytes_; }
  [[nodiscard]] std::uint32_t max_send_bytes() const noexcept { return max_send_bytes_; }
  [[nodiscard]] const coracle::compression& compression() const noexcept { return compression_; }
  [[nodiscard]] encoding_set accepted_encodings() const noexcept {
    return accepted_.common(encoding_set::all());
  }
  [[nodiscard]] const std::vector<const message_codec*>& codecs() const noexcept { return codecs_; }
  [[nodiscard]] duration drain_grace() const noexcept { return drain_grace_; }

 private:
  duration drain_grace_ = std::chrono::seconds(30);
  duration keepalive_time_ = std::chrono::hours(2);
  duration keepalive_timeout_ = std::chrono::seconds(20);
  duration ping_interval_ = std::chrono::minutes(5);
  duration max_connection_idle_ = duration::max();
  duration max_connection_age_ = duration::max();
  duration max_connection_age_grace_ = duration::max();
  std::uint32_t max_receive_bytes_ = 4u << 20;
  bool pings_without_calls_ = false;
  std::uint32_t max_send_bytes_ = std::numeric_limits<std::uint32_t>::max();
  std::vector<const message_codec*> codecs_;
  std::shared_ptr<server_observer> observer_;
  coracle::compression compression_;
  encoding_set accepted_ = encoding_set::all();
  server_limits limits_;
  std::optional<memory_quota> memory_;
};
static_assert(!std::is_aggregate_v<server_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
