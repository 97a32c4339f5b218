#include "client/call/method_config.hpp"

#include "client/naming/service_config_data.hpp"

namespace coracle::client {

method_configs::method_configs(const service_config& from, const method_configs* before, bool retries)
    : methods_(from.data().methods) {
  if (const auto& t = from.data().throttle) {
    if (before && before->throttle_)
      throttle_ = std::make_shared<retry_throttle>(t->max_tokens, t->ratio_thousandths, *before->throttle_);
    else throttle_ = std::make_shared<retry_throttle>(t->max_tokens, t->ratio_thousandths);
  }
  for (auto& [name, config] : methods_) {
    config.throttle = throttle_;
    if (retries) continue;
    config.retry.reset();
    config.hedging.reset();
  }
}

const method_config* method_configs::find(std::string_view path) const noexcept {
  if (methods_.empty()) return nullptr;
  auto found = methods_.find(path);
  if (found == methods_.end()) found = methods_.find(path.substr(0, path.rfind('/') + 1));
  if (found == methods_.end()) found = methods_.find(std::string_view("/"));
  return found == methods_.end() ? nullptr : &found->second;
}

}  // namespace coracle::client
