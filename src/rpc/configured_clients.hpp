// configured_clients: what control planes have configured in a runtime, for the pages of operators.
#pragma once

#include "coracle/coro/task.hpp"
#include "coracle/rpc/connection_snapshot.hpp"
#include "rpc/policy_outline.hpp"
#include "runtime/runtime_core.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::rpc {

struct configured_resource {
  std::string type;  // "envoy.config.listener.v3.Listener"
  std::string name;
  std::string_view state;  // static text: "acked", "nacked" and so on
  std::string version{};  // of what is in use, as is `updated`; empty if nothing is
  wall_time updated{};
  std::string error{};  // why the last one was rejected, or did not come; empty if nothing is wrong
  std::string failed_version{};  // of what was rejected
};

// A channel, or the listeners of a server, with what control planes have sent for it.
struct configured_client {
  static constexpr std::size_t resources_max = 500;

  std::string target;  // or "#server"
  std::string node{};  // as control planes know it
  std::size_t resource_count = 0;
  std::vector<configured_resource> resources{};  // the first ones
  std::optional<policy_outline> policies{};  // of a channel whose resources are known
};

// One per runtime. Any thread. The room that has clients of control planes says how they are read; those who
// show them need not be linked with it.
class configured_clients final : public runtime_internal::companion {
 public:
  // For coroutines on a loop of the runtime.
  using reader = std::function<task<std::vector<configured_client>>()>;

  static std::shared_ptr<configured_clients> of(runtime& rt);
  void read_by(reader r) {
    const std::lock_guard lock(mutex_);
    read_ = std::move(r);
  }
  // Empty if the program has no such clients.
  [[nodiscard]] reader get() const {
    const std::lock_guard lock(mutex_);
    return read_;
  }
  // runtime_internal::companion
  void runtime_ended() noexcept override { read_by({}); }

 private:
  mutable std::mutex mutex_;
  reader read_;
};

}  // namespace coracle::rpc
