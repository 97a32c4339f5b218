// rbac_rules: reads the rules of an RBAC filter (envoy.config.rbac.v3.RBAC; gRFCs A41 and A59).
#pragma once

#include "server/authorization/rule_set.hpp"
#include "xds/resource/field_path.hpp"

#include <optional>
#include <string_view>

namespace coracle::xds {

class matcher_reader;
namespace wire {
class Rbac;
}

// `filter` is the filter's name, of which audit loggers hear. Nothing if the rules are only to be logged,
// which gRPC does not do. Throws invalid_resource.
[[nodiscard]] std::optional<server_internal::rule_set> read_rbac(const wire::Rbac& from,
                                                                 std::string_view filter,
                                                                 matcher_reader& matchers,
                                                                 const field_path& at);

}  // namespace coracle::xds
