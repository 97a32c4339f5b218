// balancing_config: the load balancing policy of a cluster as the service config that it stands for (gRFC
// A52).
#pragma once

#include "coracle/base/status.hpp"
#include "xds/resource/field_path.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::xds {

namespace wire {
class Cluster;
}

// Whether the policy of a program with that name, for a TypedStruct, accepts a configuration; nothing if
// there is none of that name.
using custom_policies = std::function<std::optional<status>(std::string_view name, std::string_view config)>;

// The loadBalancingConfig with one policy: [{"round_robin":{}}]. Throws invalid_resource.
[[nodiscard]] std::string balancing_config_of(const wire::Cluster& from, const custom_policies& has_custom,
                                              const field_path& at);

}  // namespace coracle::xds
