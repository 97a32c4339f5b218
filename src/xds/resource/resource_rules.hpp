// resource_rules: what the validity of a resource depends on, beside itself.
#pragma once

#include "xds/resource/balancing_config.hpp"
#include "xds/resource/upstream_tls.hpp"

#include <array>
#include <functional>
#include <memory>
#include <string>

namespace coracle::xds {

class filter_types;
struct regex_allowance;

enum class resource_kind : unsigned char { listener, route_configuration, cluster, endpoints };
inline constexpr std::array resource_kinds = {resource_kind::listener, resource_kind::route_configuration,
                                              resource_kind::cluster, resource_kind::endpoints};

struct resource_rules {
  bool trusted = false;  // management_server::trusted
  certificate_providers has_provider;
  custom_policies has_policy;
  // Whether a resource of that canonical name is watched. Of a response, the others are left out and not even
  // parsed. Without a function, all are read.
  std::function<bool(resource_kind kind, const std::string& name)> is_watched = {};
  bool serves = false;  // Listeners are those of a server
  std::shared_ptr<const filter_types> filters = nullptr;  // null: those of the library
};

// What the reader of a resource needs.
struct reading {
  const resource_rules& rules;
  regex_allowance& regexes;
};

}  // namespace coracle::xds
