// balancing_config: the load balancing policy of a cluster as the service config that it stands for (gRFC
// A52).
#pragma once

#include "xds/resource/field_path.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <string_view>

namespace coracle::xds {

namespace wire {
class Cluster;
}

// Whether there is a policy of that name of a program's own, for a TypedStruct.
using custom_policies = std::function<bool(std::string_view name)>;

// The loadBalancingConfig with one policy: [{"round_robin":{}}]. Throws invalid_resource.
[[nodiscard]] nlohmann::json balancing_config_of(const wire::Cluster& from, const custom_policies& has_custom,
                                                 const field_path& at);

}  // namespace coracle::xds
