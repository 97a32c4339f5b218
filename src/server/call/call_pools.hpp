// call_pools: the memory that the calls of one loop of a server use one after another.
#pragma once

#include "coracle/server/impl/message_store.hpp"
#include "server/call/message_arena.hpp"
#include "server/call/received_metadata.hpp"

#include <memory>
#include <vector>

namespace coracle::server_internal {

// Must outlive the calls.
class call_pools {
 public:
  // Small messages and their holders.
  message_store messages;
  // Metadata to be filled.
  received_metadata take_metadata();
  void give_back(received_metadata m) noexcept;
  std::unique_ptr<message_arena> take_arena();
  void give_back(std::unique_ptr<message_arena> a) noexcept;

 private:
  std::vector<received_metadata> spare_metadata_;
  std::vector<std::unique_ptr<message_arena>> spare_arenas_;
};

}  // namespace coracle::server_internal
