// resource_name: the names of resources, of which those with "xdstp:" belong to an authority (gRFC A47).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coracle::xds {

struct resource_name {
  std::string authority;  // empty for a name without "xdstp:"
  // What two names that mean the same resource have in common: context parameters are sorted.
  std::string canonical;
};

// `type` is the full name of the message that is expected, "envoy.config.listener.v3.Listener". Nothing for a
// name with "xdstp:" that is malformed, or that names another type.
[[nodiscard]] std::optional<resource_name> parse_resource_name(std::string_view name, std::string_view type);

}  // namespace coracle::xds
