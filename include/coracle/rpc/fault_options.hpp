// fault_options: the faults that a client or a server injects into its calls.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace coracle {

/// Which calls client_faults() and server_faults() delay or end, to find out how a program copes. A value
/// type: set the members that differ from the defaults.
///
///   coracle::fault_options faults;
///   faults.methods = {"/movie.MovieService/"};
///   faults.delay = 200ms;
///   faults.delayed = 0.1;   // of the calls
///
/// A call may be delayed and end then. The rules are those of gRFC A33, which a control plane of xDS sets for
/// clients without a change of the program.
class fault_options {
 public:
  /// No fault.
  fault_options() noexcept {}

  /// How long calls are delayed. A call that is cancelled meanwhile, or whose deadline passes, ends at once;
  /// for client_faults(), a `timeout` of a service config counts from the end of the delay. Default: zero.
  duration delay{};
  /// The part of the calls that is delayed, from 0 to 1. Default: 1, all of them.
  double delayed = 1;
  /// The status with which calls end, in place of being sent or handled. Default: OK, which ends none.
  status abort;
  /// The part of the calls that end with `abort`, from 0 to 1. Default: 1, all of them.
  double aborted = 1;
  /// Whether the metadata of a call chooses its faults, in place of those above, with the names that Envoy
  /// reads: `x-envoy-fault-delay-request` (milliseconds), `x-envoy-fault-abort-grpc-request` (a code of gRPC)
  /// or `x-envoy-fault-abort-request` (a status of HTTP, 200 to 599), each with the optional percentage
  /// `x-envoy-fault-delay-request-percentage` or `x-envoy-fault-abort-request-percentage`, which lowers
  /// `delayed` or `aborted`. A server that does this lets each client choose: do not use it where clients are
  /// not trusted. Default: false.
  bool by_metadata = false;
  /// The maximum number of calls that are delayed at a time. While there are as many, calls have no faults.
  /// Default: no limit.
  std::uint32_t active_max = ~std::uint32_t{0};
  /// The methods that have faults: "/package.Service/Method", or "/package.Service/" for all methods of a
  /// service. Default: empty, which is every method.
  std::vector<std::string> methods;
};
static_assert(!std::is_aggregate_v<fault_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
