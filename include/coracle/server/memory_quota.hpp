// memory_quota: limits the memory that the peers of one or several servers may occupy.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace coracle {

namespace server_internal {
class server_state;
class shard;
}  // namespace server_internal

/// Limits the memory that connections hold because of their peers: received bytes that were not consumed yet,
/// decoded requests while their calls run, replies that were not read yet, tables, streams, buffers and TLS.
/// It does not count what handlers allocate.
///
/// A call whose request does not fit ends with RESOURCE_EXHAUSTED. Connections account for their memory in
/// steps of 4 KiB, and for large amounts at once. The requests of orphaned calls, whose handlers still run,
/// count for the server. While those of a loop take more than the loop's part of a quarter of the limit, the
/// loop decodes no large requests of unary and server-streaming calls.
///
/// Above five eighths of the limit, connections that hold more than half of their fair share get no new calls
/// (REFUSED_STREAM, which clients may retry on another server) and no connection credit. Above seven eighths,
/// the server closes the connections that hold most (GOAWAY, ENHANCE_YOUR_CALM) until the rest fits; it
/// closes no connection that holds its fair share or less. The last eighth is for memory that is not counted.
///
/// The server also closes a connection that keeps up the pressure for server_limits::stall_time although it
/// gets no credit, for example with a half-sent message or a reply that it does not read.
///
/// A value whose copies share the count: servers that get copies of one quota share its limit, and the
/// connections that hold most are closed, whichever server they belong to. Every function may be called from
/// any thread.
class memory_quota {
 public:
  /// A quota of `limit_bytes`, for server_options::memory.
  explicit memory_quota(std::size_t limit_bytes) : usage_(std::make_shared<usage>(limit_bytes)) {}

  /// Returns the limit.
  [[nodiscard]] std::size_t limit_bytes() const noexcept { return usage_->limit; }
  /// Returns how much the peers of all servers that share the quota occupy at the moment.
  [[nodiscard]] std::size_t used_bytes() const noexcept {
    return usage_->used.load(std::memory_order_relaxed);
  }

 private:
  friend class server_internal::server_state;
  friend class server_internal::shard;
  struct usage {
    explicit usage(std::size_t l) noexcept : limit(l) {}
    const std::size_t limit;
    std::atomic<std::size_t> used{0};
    std::atomic<std::size_t> orphaned{0};  // part of used: held by orphaned calls
    std::atomic<std::size_t> connections{0};
    std::mutex servers_change;
    std::vector<std::weak_ptr<server_internal::server_state>> servers;  // that share it
  };
  std::shared_ptr<usage> usage_;
};

}  // namespace coracle
