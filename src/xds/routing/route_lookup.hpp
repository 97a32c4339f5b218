// route_lookup: finds the route of a call. Pure functions over a configuration that does not change.
#pragma once

#include "base/random_below.hpp"
#include "xds/resource/route_configuration.hpp"
#include "xds/routing/header_matcher.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace coracle::xds {

using base::random_below;

// What a route looks at in a call.
struct route_request {
  std::string_view path;  // "/service/method"
  const header_source& headers;
};

// The virtual host for the authority of the channel, without its port's being treated specially: an exact
// domain before the longest suffix, before the longest prefix, before "*". Null if there is none.
[[nodiscard]] const virtual_host* find_virtual_host(const route_configuration& in,
                                                    std::string_view authority);

// The first route that matches, or null.
[[nodiscard]] const route* find_route(const virtual_host& in, const route_request& of,
                                      const random_below& random);
// The same, of the routes whose paths fit, by their indices.
[[nodiscard]] const route* find_route(const virtual_host& in, const route_request& of,
                                      const random_below& random, std::span<const std::uint32_t> fitting);

// One of the clusters of an action, each with a probability by its weight.
[[nodiscard]] const weighted_cluster& choose_cluster(const route_action& of, const random_below& random);

}  // namespace coracle::xds
