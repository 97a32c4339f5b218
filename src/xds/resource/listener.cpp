#include "xds/resource/listener.hpp"

#include "xds/wire/listener.pb.h"

#include <utility>

namespace coracle::xds {

listener read_listener(const wire::Listener& from, const reading& how, const field_path& top) {
  listener to;
  to.name = from.name();
  if (!from.has_api_listener()) top.refuse("has no api_listener, which a client requires");
  http_manager manager =
      read_http_manager(from.api_listener().api_listener(), how, top.at("api_listener.api_listener"));
  to.routes = std::move(manager.routes);
  to.timeout_max = manager.timeout_max;
  to.filters = std::move(manager.filters);
  return to;
}

listener read_server_listener(const wire::Listener& from, const reading& how, const field_path& top) {
  listener to;
  to.name = from.name();
  to.inbound = read_inbound_listener(from, how, top);
  return to;
}

}  // namespace coracle::xds
