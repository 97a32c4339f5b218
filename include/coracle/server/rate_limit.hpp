// rate_limit: how many calls a second a server accepts.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace coracle {

/// One of server_options::rate_limits: a token bucket, or one for each caller. A value type.
///
///   coracle::rate_limit each_client(100);  // calls a second
///   each_client.per = coracle::rate_limit::caller::client;
///   options.rate_limits.push_back(each_client);
///
/// In any time t, calls_per_second * t + burst calls are accepted, on all loops of the server together.
/// Further calls end with RESOURCE_EXHAUSTED before they are decoded, streams at their beginning. The
/// trailers say when the next call is accepted (`grpc-retry-pushback-ms`, gRFC A6); clients of REST and
/// Connect get 429 with `Retry-After`.
class rate_limit {
 public:
  /// Who shares a bucket.
  enum class caller : std::uint8_t {
    all,  ///< all callers together
    client,  ///< the calls of one client: of the identity that it has proved by TLS, else of its address
    metadata,  ///< the calls with one value of `metadata_name`, and those without a value
  };

  /// No limit until calls_per_second is set.
  rate_limit() noexcept {}
  /// For all methods and callers.
  explicit rate_limit(double calls_a_second, double calls_at_once = 0) noexcept
      : calls_per_second(calls_a_second), burst(calls_at_once) {}

  /// The methods whose calls count: "/package.Service/Method", or "/package.Service/" for all methods of a
  /// service. Services whose service::is_limited() is false are never limited. Default: empty, which is every
  /// method.
  std::vector<std::string> methods;
  /// Who shares a bucket. Default: all.
  caller per = caller::all;
  /// For caller::metadata: a key in lower case. Of several values the first counts. Take one that clients
  /// cannot choose freely, such as a tenant that a proxy has verified: a client that makes up values has as
  /// many buckets.
  std::string metadata_name;
  /// How many tokens a bucket gets in a second: at least one in 10,000 s, at most 10 million. Required.
  double calls_per_second = 0;
  /// How many tokens a bucket holds, and at first has: how many calls may come at once. 0: as many as in a
  /// second, but at least one. At most 10^9. Default: 0.
  double burst = 0;
};
static_assert(!std::is_aggregate_v<rate_limit>, "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
