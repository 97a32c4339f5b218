#include "xds/resource/listener.hpp"

#include "xds/wire/listener.pb.h"

#include <utility>

namespace coracle::xds {

listener read_listener(const wire::Listener& from, bool trusted, regex_allowance& regexes,
                       const field_path& top) {
  listener to;
  to.name = from.name();
  if (!from.has_api_listener()) top.refuse("has no api_listener, which a client requires");
  http_manager manager = read_http_manager(from.api_listener().api_listener(), trusted, regexes,
                                           top.at("api_listener.api_listener"));
  to.routes = std::move(manager.routes);
  to.timeout_max = manager.timeout_max;
  to.filters = std::move(manager.filters);
  return to;
}

listener read_server_listener(const wire::Listener& from, bool trusted, const certificate_providers& has,
                              regex_allowance& regexes, const field_path& top) {
  listener to;
  to.name = from.name();
  to.inbound = read_inbound_listener(from, trusted, has, regexes, top);
  return to;
}

}  // namespace coracle::xds
