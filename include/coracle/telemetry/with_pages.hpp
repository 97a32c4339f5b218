// with_pages: pages in the browser that show operators what a server and its runtime do.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/server/http_request.hpp"

#include <functional>
#include <string>
#include <type_traits>

namespace coracle {

class server;

/// The options of with_pages(). A value type: set the members that differ from the defaults.
class pages_options {
 public:
  /// All defaults.
  pages_options() noexcept {}
  /// Where the pages are: GET of this path and of paths below it, without a slash at the end. Default:
  /// "/pages".
  std::string path = "/pages";
  /// Decides who may use the pages; called for every request of them, on the loop of its connection. OK
  /// admits the request. UNAUTHENTICATED becomes 401, for which a browser asks for a name and a password
  /// (Authorization: Basic, RFC 7617); any other status becomes 403. The client sees the message.
  ///
  /// Default: none. The pages then answer only clients of the same machine, over loopback or a UNIX socket,
  /// and a listen() on any other address fails. A request that a proxy has forwarded (Forwarded,
  /// X-Forwarded-For) gets 403, because its client may be on another machine.
  std::function<status(const http_request&)> authorize;
  /// Whether those who may use the pages may cancel calls in progress, which then end with CANCELLED.
  /// Default: false.
  bool cancel_calls = false;
};
static_assert(!std::is_aggregate_v<pages_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

/// Adds pages to a server that show what it and its runtime do: rates, errors and latencies of its methods,
/// calls in progress, connections, channels, loops, memory, limits, configuration, log levels. Measures the
/// calls of the server as telemetry::observe() does. Call it before the first listen() or in_process(). Link
/// coracle::telemetry.
///
///   coracle::with_pages(server);  // http://127.0.0.1:50051/pages
///
/// The same is JSON below the path and "/json/": docs/reference/pages_json.md describes it, and `coracle top`
/// shows it in a terminal. GET of the path and "/pprof/profile?seconds=10" samples the CPU use of the whole
/// process, and responds with a profile for pprof; meanwhile the process handles SIGPROF. "/pprof/heap" is a
/// profile of its memory, if its allocator records one (jemalloc, gperftools), else 501. Pages that are not
/// open cost the bookkeeping of the calls in progress only.
///
/// Throws usage_error if the path is invalid or taken by another route.
void with_pages(server& on, pages_options options = {});

}  // namespace coracle
