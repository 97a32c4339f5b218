// call_set: what the calls of one loop of a server share.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/compress/compression.hpp"
#include "coracle/compress/encoding.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/server/impl/message_store.hpp"
#include "coracle/server/server_interceptor.hpp"
#include "coracle/server/server_observer.hpp"
#include "server/message_arena.hpp"
#include "server/received_metadata.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace coracle::server_internal {

class server_call;

// The calls of one loop of a server. Must outlive them.
class call_set {
 public:
  base::intrusive_list<server_call> running;
  std::size_t count = 0;
  // The calls of all loops of the server. The creator of a call increments it. Null if nothing limits the
  // calls.
  std::atomic<std::size_t>* of_server = nullptr;
  // How many of these calls are orphaned: ended for their clients, while their handlers still run.
  std::size_t orphaned = 0;
  // The memory of the messages of orphaned calls, which no connection accounts for any more. Above the
  // maximum, the loop decodes no large request.
  std::size_t orphaned_bytes = 0;
  std::size_t orphaned_bytes_max = std::numeric_limits<std::size_t>::max();
  // How many of all calls so far ended with OK, and with another status.
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  server_observer* observer = nullptr;
  // The compression encodings that requests may have.
  encoding_set accepted = encoding_set::all();
  std::uint32_t max_receive_bytes = 4u << 20;
  // The limit for replies; the one above is for requests.
  std::uint32_t max_send_bytes = std::numeric_limits<std::uint32_t>::max();
  coracle::compression compression;
  const std::vector<std::shared_ptr<server_interceptor>>* interceptors = nullptr;
  // A call ends if its handler waits for a message of which fewer bytes than stall_bytes arrive in a
  // stall_time.
  duration stall_time = duration::max();
  std::size_t stall_bytes = 1;
  // Requested when the server begins to drain.
  coro::stop_source draining;
  // Called when `count` has dropped to 0; may be null.
  void (*emptied)(call_set&) noexcept = nullptr;
  // Called when orphaned_bytes has changed, with the value before; may be null.
  void (*on_orphaned_bytes_changed)(call_set&, std::size_t before) noexcept = nullptr;
  void set_orphaned_bytes(std::size_t now) noexcept {
    const std::size_t before = std::exchange(orphaned_bytes, now);
    if (on_orphaned_bytes_changed && now != before) on_orphaned_bytes_changed(*this, before);
  }
  // Metadata to be filled, whose memory later calls reuse.
  received_metadata take_metadata();
  void give_back(received_metadata m) noexcept;
  // Arenas, which later calls reuse.
  std::unique_ptr<message_arena> take_arena();
  void give_back(std::unique_ptr<message_arena> a) noexcept;
  // Small messages and their holders, which later calls reuse.
  message_store messages;

 private:
  std::vector<received_metadata> spare_;
  std::vector<std::unique_ptr<message_arena>> spare_arenas_;
};

}  // namespace coracle::server_internal
