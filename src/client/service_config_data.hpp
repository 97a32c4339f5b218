// service_config_data: what a service config says, in our terms.
#pragma once

#include "client/method_config.hpp"
#include "coracle/client/balancing.hpp"
#include "coracle/client/service_config.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace coracle::client {

// retryThrottling
struct throttle_config {
  std::int32_t max_tokens = 0;
  std::int32_t ratio_thousandths = 0;
};

struct service_config_data {
  std::string json;
  std::vector<service_config::policy> load_balancing;
  std::optional<balancing> balance;  // the first of them that is known
  std::optional<std::string> health_check_service;
  std::optional<throttle_config> throttle;
  std::optional<std::uint32_t> connections_max;  // to one server (gRFC A105), unlimited as yet
  // By "/service/method"; "/service/" for its other methods, "/" for those of other services.
  std::map<std::string, method_config, std::less<>> methods;
};

// In service_config_json.cpp, the one file that knows JSON.
result<service_config_data> parse_service_config(std::string_view json);

}  // namespace coracle::client
