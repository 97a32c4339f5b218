// http_manager: what a Listener does with calls (HttpConnectionManager).
#pragma once

#include "coracle/base/clock.hpp"
#include "xds/resource/http_filters.hpp"
#include "xds/resource/route_configuration.hpp"

#include <google/protobuf/any.pb.h>

#include <optional>
#include <string>
#include <variant>

namespace coracle::xds {

inline constexpr std::string_view http_manager_type =
    "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";

struct http_manager {
  // The name of a RouteConfiguration, or one that is part of the Listener.
  std::variant<std::string, route_configuration> routes;
  std::optional<duration> timeout_max;  // of calls whose route says nothing, zero for none
  http_filters filters;

  friend bool operator==(const http_manager&, const http_manager&) = default;
};

// Throws invalid_resource.
[[nodiscard]] http_manager read_http_manager(const google::protobuf::Any& from, const reading& how,
                                             const field_path& at);

}  // namespace coracle::xds
