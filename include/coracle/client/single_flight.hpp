// single_flight: an interceptor that lets equal calls that are in progress at the same time share one.
#pragma once

#include "coracle/client/client_interceptor.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace coracle {

/// The largest request, in bytes, with which calls are shared: a copy of it is kept while the call is in
/// progress.
inline constexpr std::size_t single_flight_request_bytes_max = 64u << 10;

/// Returns an interceptor that sends equal unary calls once while the first of them is in progress, for
/// channel_options::interceptors or channel::with_interceptors(). A cache that has just lost an entry that
/// many users want then asks its server once.
///
///   options.interceptors = {coracle::single_flight({"/movie.MovieService/GetMovie"})};
///
/// `methods`: the methods whose calls may be shared, "/package.Service/Method", or "/package.Service/" for
/// all methods of a service. They must not change anything. Throws usage_error for another text.
///
/// Calls are equal if they are made on one loop and one channel, have the same request, method and options
/// other than timeouts, and pass on the same criticality and baggage of a handler's call. Each loop sends one
/// of them. Each call gets the status and a reply of its own, but no initial and trailing metadata if another
/// call was sent for it. Each keeps its deadline, and can be cancelled by itself: if the caller of the call
/// that was sent gives up, one of those that wait is sent. A `timeout` of a service config counts for all of
/// them from the call that was sent. Each request is encoded once more, to be compared. The metric
/// `coracle.client.calls_shared` counts the calls that were not sent.
[[nodiscard]] std::shared_ptr<client_interceptor> single_flight(std::vector<std::string> methods);

}  // namespace coracle
