// route_lookup: finds the route of a call. Pure functions over a configuration that does not change.
#pragma once

#include "xds/resource/route_configuration.hpp"
#include "xds/routing/header_matcher.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace coracle::xds {

// Gives a random number from 0 to below - 1. Refers to the function that it is made of.
class random_below {
 public:
  template <class F>
  random_below(const F& f) noexcept  // NOLINT(google-explicit-constructor)
      : of_(&f), call_([](const void* of, std::uint64_t below) -> std::uint64_t {
          return (*static_cast<const F*>(of))(below);
        }) {}
  [[nodiscard]] std::uint64_t operator()(std::uint64_t below) const { return call_(of_, below); }

 private:
  const void* of_;
  std::uint64_t (*call_)(const void* of, std::uint64_t below);
};

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
