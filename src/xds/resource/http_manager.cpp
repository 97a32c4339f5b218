#include "xds/resource/http_manager.hpp"

#include "base/printable.hpp"
#include "xds/resource/wire_values.hpp"
#include "xds/wire/listener.pb.h"

namespace coracle::xds {

http_manager read_http_manager(const google::protobuf::Any& from, const reading& how, const field_path& at) {
  if (type_of(from) != http_manager_type)
    at.refuse("is an unexpected http connection manager resource type: " + base::printable(type_of(from)));
  const auto manager = unpacked<wire::HttpConnectionManager>(from, at);
  http_manager to;
  switch (manager.routes_case()) {
    case wire::HttpConnectionManager::kRds:
      require_same_stream(manager.rds().config_source(), at.at("rds.config_source"));
      if (manager.rds().route_config_name().empty())
        at.at("rds.route_config_name").refuse("must not be empty");
      to.routes = manager.rds().route_config_name();
      break;
    case wire::HttpConnectionManager::kRouteConfig:
      to.routes = read_route_configuration(manager.route_config(), how, at.at("route_config"));
      break;
    default: at.refuse("has neither rds nor route_config");
  }
  if (manager.xff_num_trusted_hops() != 0) at.at("xff_num_trusted_hops").refuse("must be 0");
  if (manager.original_ip_detection_extensions_size() > 0)
    at.at("original_ip_detection_extensions").refuse("must be empty");
  if (manager.common_http_protocol_options().has_max_stream_duration()) {
    to.timeout_max = duration_of(manager.common_http_protocol_options().max_stream_duration(),
                                 at.at("common_http_protocol_options.max_stream_duration"));
  }
  to.filters = read_http_filters(manager.http_filters(), how, at);
  return to;
}

}  // namespace coracle::xds
