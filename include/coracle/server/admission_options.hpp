// admission_options: how a server protects itself from more calls than it can serve.
#pragma once

#include <cstddef>
#include <type_traits>

namespace coracle {

/// How a server that may reject calls decides which. server_options::protect() turns it on with these
/// defaults; docs/guides/overload.md describes the rules. An aggregate.
///
/// Each loop limits how many unary calls run on it at a time. It adapts the limit to the latency of its
/// calls, so that what it calls (a database, other services) has little to queue. Calls above the limit wait
/// for at most 100 ms, and for 5 ms once the calls of the loop have waited without a pause for 100 ms.
/// Those that wait longer end with UNAVAILABLE, those of lower criticality first.
struct admission_options {
  /// The limit of a loop is at least this, and begins with it. Default: 20.
  std::size_t min_concurrency = 20;
  /// The limit of a loop is at most this. Default: 10,000.
  std::size_t max_concurrency = 10'000;
};
static_assert(std::is_trivially_destructible_v<admission_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
