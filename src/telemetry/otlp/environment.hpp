// environment: the environment variables of OpenTelemetry that configure an exporter.
#pragma once

#include "coracle/base/log.hpp"
#include "coracle/telemetry/otlp.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal {

// Returns the value of a variable, or null.
using variables = std::function<const char*(const char* name)>;

[[nodiscard]] otlp_options read_otlp_environment(const variables& get, logger& log);

// Returns the URL of a signal below a base URL: "http://collector:4318/otlp" and "v1/traces".
[[nodiscard]] std::string endpoint_of_signal(std::string_view base, std::string_view path);

}  // namespace coracle::telemetry_internal
