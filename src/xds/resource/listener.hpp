// listener: what a target of a client is (envoy.config.listener.v3.Listener with an api_listener), or what a
// server does with connections.
#pragma once

#include "coracle/base/clock.hpp"
#include "xds/resource/http_filters.hpp"
#include "xds/resource/inbound_listener.hpp"
#include "xds/resource/route_configuration.hpp"

#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace coracle::xds {

namespace wire {
class Listener;
}

struct listener {
  std::string name;
  // The name of a RouteConfiguration, or one that is part of the Listener.
  std::variant<std::string, route_configuration> routes;
  std::optional<duration> timeout_max;  // of calls whose route says nothing, zero for none
  http_filters filters;
  std::optional<inbound_listener> inbound;  // of a server, which has nothing of the others

  friend bool operator==(const listener&, const listener&) = default;
};

// Throws invalid_resource.
[[nodiscard]] listener read_listener(const wire::Listener& from, const reading& how, const field_path& at);
// The same for a server.
[[nodiscard]] listener read_server_listener(const wire::Listener& from, const reading& how,
                                            const field_path& at);

}  // namespace coracle::xds
