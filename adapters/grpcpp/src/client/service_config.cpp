// Service configs.
#include <grpcpp/support/validate_service_config.h>

#include "coracle/client/service_config.hpp"

namespace grpc::experimental {

std::string ValidateServiceConfigJSON(const std::string& service_config_json) {
  const auto parsed = coracle::service_config::parse(service_config_json);
  return parsed.ok() ? std::string() : std::string(parsed.status().message());
}

}  // namespace grpc::experimental
