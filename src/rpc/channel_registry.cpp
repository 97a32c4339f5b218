#include "rpc/channel_registry.hpp"

#include "coracle/runtime/runtime.hpp"
#include "runtime/runtime_core.hpp"

#include <utility>

namespace coracle::rpc {

std::shared_ptr<channel_registry> channel_registry::of(runtime& rt) {
  return rt.core().companion<channel_registry>();
}

void channel_registry::add(std::uint64_t id, std::weak_ptr<shown_channel> c) {
  const std::lock_guard lock(mutex_);
  channels_.emplace(id, std::move(c));
}

void channel_registry::remove(std::uint64_t id) noexcept {
  const std::lock_guard lock(mutex_);
  channels_.erase(id);
}

std::map<std::uint64_t, std::shared_ptr<shown_channel>> channel_registry::all() const {
  const std::lock_guard lock(mutex_);
  std::map<std::uint64_t, std::shared_ptr<shown_channel>> alive;
  for (const auto& [id, c] : channels_)
    if (auto held = c.lock()) alive.emplace(id, std::move(held));
  return alive;
}

}  // namespace coracle::rpc
