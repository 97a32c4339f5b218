// method_config: what a service config says about the calls of one method.
#pragma once

#include "client/retry_policy.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/client/service_config.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::client {

struct retry_policy;
struct hedging_policy;
class retry_throttle;

// Part of a snapshot that never changes; the policies outlive it for as long as a call goes by them.
struct method_config {
  std::optional<duration> timeout;  // the smaller one of it and the caller's holds
  std::optional<bool> wait_for_ready;
  std::optional<std::uint32_t> max_request_bytes;
  std::optional<std::uint32_t> max_response_bytes;
  // One of them at most.
  std::shared_ptr<const retry_policy> retry;
  std::shared_ptr<const hedging_policy> hedging;
  // The channel's, shared by all of its methods; null: no throttling.
  std::shared_ptr<retry_throttle> throttle;
};

// A snapshot: never changes but for the tokens of its throttle, so that every loop may read it without a lock. What
// find() gives lives as long as this.
class method_configs {
 public:
  // before: what the channel's calls went by until now, null at first; the tokens stay in proportion (gRFC A6).
  // retries: false leaves the policies out.
  method_configs(const service_config& from, const method_configs* before, bool retries = true);

  // "/package.Service/Method": the entry of the method, else of its service, else the default; else null.
  [[nodiscard]] const method_config* find(std::string_view path) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return methods_.empty(); }

 private:
  std::shared_ptr<retry_throttle> throttle_;
  std::map<std::string, method_config, std::less<>> methods_;
};

}  // namespace coracle::client
