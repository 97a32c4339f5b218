// client_registry: the clients of control planes in the process, for CSDS (gRFC A40), the pages of operators
// and metrics.
#pragma once

#include "coracle/coro/task.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/runtime.hpp"
#include "rpc/configured_clients.hpp"
#include "xds/ads/ads_client.hpp"
#include "xds/status/client_gauges.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace coracle::xds {

// Those of channels and of servers. One per process, which is never destroyed. Any thread.
class client_registry {
 public:
  // Of the channels of a target, on the loop of the client: nothing before its resources are known.
  using outline_function = std::function<std::optional<rpc::policy_outline>()>;

  struct entry {
    std::string scope;  // the target of the channels, or "#server"
    loop* on;
    const runtime* of;
    const ads_client* client;  // for tasks on that loop, as are the policies
    outline_function policies;  // empty for servers
  };

  static client_registry& instance() {
    static client_registry& only = *new client_registry;
    return only;
  }

  // Keeps a client in the registry. Made and destroyed on the loop of the client, which ends later.
  class membership {
   public:
    membership(const std::string& scope, const ads_client& client, outline_function policies = {});
    membership(const membership&) = delete;
    membership& operator=(const membership&) = delete;
    ~membership() { instance().remove(id_); }

   private:
    client_gauges gauges_;
    std::uint64_t id_ = 0;
  };

  [[nodiscard]] std::map<std::uint64_t, entry> all() const {
    const std::lock_guard lock(mutex_);
    return clients_;
  }
  // On the loop of the client: nothing if it has gone.
  [[nodiscard]] std::optional<entry> find_entry(std::uint64_t id) const {
    const std::lock_guard lock(mutex_);
    const auto found = clients_.find(id);
    return found == clients_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] const ads_client* find(std::uint64_t id) const {
    const auto found = find_entry(id);
    return found ? found->client : nullptr;
  }
  // Runs `t` on the loop of the client, which may be of another runtime; destroys it if the client has gone.
  void run_beside(std::uint64_t id, task<> t) const {
    const std::lock_guard lock(mutex_);  // until then the client stays, and with it the runtime
    const auto found = clients_.find(id);
    if (found == clients_.end()) return;
    loop& on = *found->second.on;
    on.owner().spawn_on(on, std::move(t));
  }

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
