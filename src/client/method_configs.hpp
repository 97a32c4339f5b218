// method_configs: a service config as the calls of one channel go by it.
#pragma once

#include "client/method_config.hpp"
#include "client/retry_throttle.hpp"
#include "coracle/client/service_config.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::client {

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
