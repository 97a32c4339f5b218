// method_config: what a service config specifies for the calls of one method.
#pragma once

#include "client/call/retry_policy.hpp"
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

// Part of an immutable snapshot; the policies outlive it for as long as a call uses them.
struct method_config {
  std::optional<duration> timeout;  // the smaller of this and the caller's applies
  std::optional<bool> wait_for_ready;
  std::optional<std::uint32_t> max_request_bytes;
  std::optional<std::uint32_t> max_response_bytes;
  // At most one of these is set.
  std::shared_ptr<const retry_policy> retry;
  std::shared_ptr<const hedging_policy> hedging;
  // Belongs to the channel, shared by all of its methods; null: no throttling.
  std::shared_ptr<retry_throttle> throttle;
};

// A snapshot: immutable except for the tokens of its throttle, so that every loop can read it without a lock.
// The result of find() lives as long as this object.
class method_configs {
 public:
  // before: the snapshot that the channel's calls used until now, null at first; the tokens keep their
  // proportion (gRFC A6). retries: false leaves out the policies.
  method_configs(const service_config& from, const method_configs* before, bool retries = true);

  // Returns the entry of the method ("/package.Service/Method"), or else of its service, or else the default;
  // null if there is none.
  [[nodiscard]] const method_config* find(std::string_view path) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return methods_.empty(); }

 private:
  std::shared_ptr<retry_throttle> throttle_;
  std::map<std::string, method_config, std::less<>> methods_;
};

}  // namespace coracle::client
