// client_registry: the clients of control planes in a runtime, of channels and servers, for CSDS (gRFC A40).
#pragma once

#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/runtime.hpp"
#include "runtime/runtime_core.hpp"
#include "xds/ads/ads_client.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace coracle::xds {

// One per runtime. Any thread.
class client_registry final : public runtime_internal::companion {
 public:
  struct entry {
    std::string scope;  // the target of the channel, or "#server"
    loop* on;
    const ads_client* client;  // for tasks on that loop
  };

  static std::shared_ptr<client_registry> of(runtime& rt) {
    return rt.core().companion_of<client_registry>();
  }

  // Keeps a client in the registry. Made and destroyed on the loop of the client.
  class membership {
   public:
    membership(std::string scope, const ads_client& client)
        : registry_(of(loop::current()->owner())),
          id_(registry_->add({std::move(scope), loop::current(), &client})) {}
    membership(const membership&) = delete;
    membership& operator=(const membership&) = delete;
    ~membership() { registry_->remove(id_); }

   private:
    const std::shared_ptr<client_registry> registry_;
    const std::uint64_t id_;
  };

  [[nodiscard]] std::map<std::uint64_t, entry> all() const {
    const std::lock_guard lock(mutex_);
    return clients_;
  }
  // On the loop of the client: null if it has gone.
  [[nodiscard]] const ads_client* find(std::uint64_t id) const {
    const std::lock_guard lock(mutex_);
    const auto found = clients_.find(id);
    return found == clients_.end() ? nullptr : found->second.client;
  }

  // runtime_internal::companion
  void runtime_ended() noexcept override {}

 private:
  std::uint64_t add(entry e) {
    const std::lock_guard lock(mutex_);
    clients_.emplace(++last_id_, std::move(e));
    return last_id_;
  }
  void remove(std::uint64_t id) noexcept {
    const std::lock_guard lock(mutex_);
    clients_.erase(id);
  }

  mutable std::mutex mutex_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, entry> clients_;
};

}  // namespace coracle::xds
