#include "coracle/client/service_config.hpp"

#include "client/naming/service_config_data.hpp"

#include <utility>

namespace coracle {

service_config::service_config() noexcept {
  using shared_data = std::shared_ptr<const client::service_config_data>;
  // Never destroyed: channels may be made while the program exits.
  static const auto& nothing = *new shared_data(std::make_shared<const client::service_config_data>());
  data_ = nothing;
}

service_config::service_config(std::shared_ptr<const client::service_config_data> d) noexcept
    : data_(std::move(d)) {}

result<service_config> service_config::parse(std::string_view json) {
  result<client::service_config_data> parsed = client::parse_service_config(json);
  if (!parsed) return parsed.status();
  return service_config(std::make_shared<const client::service_config_data>(*std::move(parsed)));
}

const std::string& service_config::json() const noexcept { return data_->json; }

const std::vector<service_config::policy>& service_config::load_balancing() const noexcept {
  return data_->load_balancing;
}

const std::string* service_config::health_check_service() const noexcept {
  return data_->health_check_service ? &*data_->health_check_service : nullptr;
}

}  // namespace coracle
