// memory_quota: how much memory the peers of one or several servers may take up.
#pragma once

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

// Counts what connections hold because of their peers: bytes received and not yet taken, what decoded requests take in memory
// while their calls run, replies not yet read, tables, streams, buffers, TLS. Not what handlers allocate. A call whose
// request does not fit is RESOURCE_EXHAUSTED. Counted in steps of 4 KiB, at once for what is large. Requests of handlers
// that run on behind calls that have ended count for the server. While those of a loop take more than its
// part of a quarter of the limit, it decodes no more large requests of unary and server-streaming calls.
//
// Above five eighths of the limit, connections that hold more than half of their even share get no new calls
// (REFUSED_STREAM, which clients may try elsewhere) and no connection credit. Above seven eighths, those that hold
// most are closed (GOAWAY, ENHANCE_YOUR_CALM) until the rest fits; nobody at or below the even share is. The last
// eighth is for what is not counted.
//
// What keeps the pressure up for server_limits::stall_time() although it gets no credit is closed, too: a message that
// was left half sent, a reply that is not read.
//
// A value whose copies share the count: hand one to several servers, and they share the limit, whoever's connections hold
// most. Any thread.
class memory_quota {
 public:
  explicit memory_quota(std::size_t limit_bytes) : counted_(std::make_shared<counted>(limit_bytes)) {}

  [[nodiscard]] std::size_t limit_bytes() const noexcept { return counted_->limit; }
  [[nodiscard]] std::size_t used_bytes() const noexcept {
    return counted_->used.load(std::memory_order_relaxed);
  }

 private:
  friend class server_internal::server_state;
  friend class server_internal::shard;
  struct counted {
    explicit counted(std::size_t l) noexcept : limit(l) {}
    const std::size_t limit;
    std::atomic<std::size_t> used{0};
    std::atomic<std::size_t> abandoned{0};  // of what is used: by calls that no connection has any more
    std::atomic<std::size_t> connections{0};
    std::mutex servers_change;
    std::vector<std::weak_ptr<server_internal::server_state>> servers;  // that share it
  };
  std::shared_ptr<counted> counted_;
};

}  // namespace coracle
