// service_config_data: the content of a service config, in the types of this library.
#pragma once

#include "client/call/method_config.hpp"
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
  std::optional<balancing> balance;  // the first of load_balancing that is supported
  std::optional<std::string> health_check_service;
  std::optional<throttle_config> throttle;
  std::optional<std::uint32_t> connections_max;  // to one server (gRFC A105), before connections_limit
  // The keys are "/service/method", "/service/" for its other methods, and "/" for those of other services.
  std::map<std::string, method_config, std::less<>> methods;
};

// In service_config_json.cpp, the only file that uses JSON.
result<service_config_data> parse_service_config(std::string_view json);

}  // namespace coracle::client
