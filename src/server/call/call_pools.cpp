#include "server/call/call_pools.hpp"

#include "base/if_memory_allows.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace coracle::server_internal {

received_metadata call_pools::take_metadata() {
  if (spare_metadata_.empty()) return received_metadata::make();
  received_metadata m = std::move(spare_metadata_.back());
  spare_metadata_.pop_back();
  return m;
}

void call_pools::give_back(received_metadata m) noexcept {
  if (m.is_shared()) return;
  constexpr std::size_t kept = 1024;  // as many calls as are likely to run concurrently
  if (spare_metadata_.size() >= kept) return;
  constexpr std::size_t kept_bytes = 4096;  // per call; larger blocks are freed
  if (m.get().capacity_bytes() > kept_bytes) return;
  m.own().clear();
  base::if_memory_allows([&] { spare_metadata_.push_back(std::move(m)); });
}

std::unique_ptr<message_arena> call_pools::take_arena() {
  if (spare_arenas_.empty()) return std::make_unique<message_arena>();
  auto a = std::move(spare_arenas_.back());
  spare_arenas_.pop_back();
  return a;
}

void call_pools::give_back(std::unique_ptr<message_arena> a) noexcept {
  constexpr std::size_t kept = 64;  // of up to 64 KiB each
  if (spare_arenas_.size() >= kept) return;
  a->reset();
  base::if_memory_allows([&] { spare_arenas_.push_back(std::move(a)); });
}

}  // namespace coracle::server_internal
