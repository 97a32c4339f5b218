// openapi_route(): the route of a document that describes what a server answers over plain HTTP.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/rpc/openapi.hpp"
#include "coracle/server/http_route.hpp"

#include <string_view>

namespace coracle::server_internal {

class server_state;

// The services and routes that the server has at this moment. See server::add_openapi().
[[nodiscard]] result<http_route> openapi_route(const server_state& of, openapi_options options,
                                               std::string_view path);

}  // namespace coracle::server_internal
