// server_registry: the servers of a runtime, for channelz.
#pragma once

#include "coracle/runtime/runtime.hpp"
#include "runtime/runtime_core.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace coracle::server_internal {

class server_state;

// One per runtime. Any thread.
class server_registry final : public runtime_internal::companion {
 public:
  static std::shared_ptr<server_registry> of(runtime& rt) {
    return rt.core().companion_of<server_registry>();
  }

  void add(std::uint64_t id, std::weak_ptr<server_state> s) {
    const std::lock_guard lock(mutex_);
    servers_.emplace(id, std::move(s));
  }
  void remove(std::uint64_t id) noexcept {
    const std::lock_guard lock(mutex_);
    servers_.erase(id);
  }
  // Returns the servers in order of their ids.
  [[nodiscard]] std::map<std::uint64_t, std::shared_ptr<server_state>> all() const {
    const std::lock_guard lock(mutex_);
    std::map<std::uint64_t, std::shared_ptr<server_state>> alive;
    for (const auto& [id, s] : servers_)
      if (auto held = s.lock()) alive.emplace(id, std::move(held));
    return alive;
  }
  // runtime_internal::companion. A server that outlives its runtime has no loops, and gives an empty
  // snapshot.
  void runtime_ended() noexcept override {}

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::weak_ptr<server_state>> servers_;
};

}  // namespace coracle::server_internal
