// resource: what describes this program to a collector.
#pragma once

#include "telemetry/otlp/requests.hpp"

namespace coracle {
class runtime;
}

namespace coracle::telemetry_internal {

// The attributes that the library knows of the process of `on`, overridden and extended by `own`:
// service.name, service.instance.id, telemetry.sdk.*, host.name and process.pid (OpenTelemetry's conventions
// for resources).
[[nodiscard]] text_attributes resource_attributes(runtime& on, const text_attributes& own);

}  // namespace coracle::telemetry_internal
