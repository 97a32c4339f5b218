// ValidateServiceConfigJSON(): whether a service config is valid.
#pragma once

#include <grpcpp/support/config.h>

#include <string>

namespace grpc::experimental {

/// Returns what is wrong with the service config; empty if it is valid.
std::string ValidateServiceConfigJSON(const std::string& service_config_json);

}  // namespace grpc::experimental
