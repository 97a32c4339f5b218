// server_call_options: what the options of a server say about its calls.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/compress/compression.hpp"
#include "coracle/compress/encoding.hpp"
#include "coracle/rpc/criticality.hpp"
#include "coracle/server/server_interceptor.hpp"
#include "coracle/server/server_observer.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace coracle::server_internal {

class admission_gate;
class server_load;

// The same for all calls of a loop; the shard sets it before the first one. Borrows from the server.
struct server_call_options {
  server_observer* observer = nullptr;
  bool observes_progress = false;
  std::uint32_t unregistered_index = 0;  // served_call::method_index of calls of unregistered methods
  const std::vector<std::shared_ptr<server_interceptor>>* interceptors = nullptr;
  // The compression encodings that requests may have.
  encoding_set accepted = encoding_set::all();
  // The highest that clients may use.
  criticality max_criticality = criticality::critical;
  // Of replies.
  coracle::compression compression;
  // One of this many calls is measured (call_cost). A prime number, because calls of a client often repeat in
  // a fixed order, and each of them should be measured from time to time. To measure a small call costs about
  // as much as the call itself, so that one of 101 is 1 %.
  std::uint32_t measured_calls = 101;
  // Reports the load of the server, or null.
  server_load* load = nullptr;
  // Limits the unary calls of the loop, or null.
  admission_gate* admission = nullptr;
  // Sends the costs of measured calls in their trailers.
  bool cost_trailers = false;
  // The limit for requests.
  std::uint32_t max_receive_bytes = 4u << 20;
  // The limit for replies.
  std::uint32_t max_send_bytes = std::numeric_limits<std::uint32_t>::max();
  // A call ends if its handler waits for a message of which fewer bytes than stall_bytes arrive in a
  // stall_time.
  duration stall_time = duration::max();
  std::size_t stall_bytes = 1;
  // If orphaned calls hold more (call_counters::orphaned_bytes), the loop decodes no large request.
  std::size_t orphaned_bytes_max = std::numeric_limits<std::size_t>::max();
};

}  // namespace coracle::server_internal
