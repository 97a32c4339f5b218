// call_set: what the calls of one loop of a server share.
#pragma once

#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/coro/stop_token.hpp"
#include "server/call/call_counters.hpp"
#include "server/call/call_pools.hpp"
#include "server/call/server_call_options.hpp"

#include <atomic>
#include <cstddef>
#include <utility>

namespace coracle::server_internal {

class server_call;

// The calls of one loop. Must outlive them. The shard derives from it.
class call_set : public server_call_options, public call_counters, public call_pools {
 public:
  explicit call_set(loop& l) noexcept : here(l) {}
  loop& here;
  base::intrusive_list<server_call> running;
  // Requested when the server begins to drain.
  coro::stop_source draining;

  void set_orphaned_bytes(std::size_t now) noexcept {
    const std::size_t before = std::exchange(orphaned_bytes, now);
    if (now != before) on_orphaned_bytes(before);
  }
  // A call has ended, and its object is destroyed.
  void call_ended() noexcept {
    if (of_server) of_server->fetch_sub(1, std::memory_order_relaxed);
    if (--count == 0) on_empty();
  }

 protected:
  ~call_set() = default;

 private:
  // `count` has dropped to 0.
  virtual void on_empty() noexcept = 0;
  // orphaned_bytes has changed; it was `before`.
  virtual void on_orphaned_bytes(std::size_t before) noexcept = 0;
};

}  // namespace coracle::server_internal
