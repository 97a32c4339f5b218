#include "xds/ads/node.hpp"

#include "rpc/json_document.hpp"

#include <google/protobuf/struct.pb.h>

#include <nlohmann/json.hpp>

namespace coracle::xds {

namespace {

// The parser of the bootstrap bounds the depth.
void write_value(const nlohmann::json& from, google::protobuf::Value& to) {
  if (from.is_object()) {
    auto& fields = *to.mutable_struct_value()->mutable_fields();
    for (const auto& [name, each] : from.items()) write_value(each, fields[name]);
  } else if (from.is_array()) {
    auto& list = *to.mutable_list_value();
    for (const auto& each : from) write_value(each, *list.add_values());
  } else if (from.is_string()) {
    to.set_string_value(from.get<std::string>());
  } else if (from.is_boolean()) {
    to.set_bool_value(from.get<bool>());
  } else if (from.is_number()) {
    to.set_number_value(from.get<double>());
  } else {
    to.set_null_value(google::protobuf::NULL_VALUE);
  }
}

}  // namespace

wire::Node node_message(const node_identity& from, const std::string& user_agent_name,
                        const std::string& user_agent_version) {
  wire::Node to;
  to.set_id(from.id);
  to.set_cluster(from.cluster);
  if (!from.metadata.empty()) {
    const rpc::json_document metadata(from.metadata);
    google::protobuf::Value value;
    write_value(metadata.whole(), value);
    *to.mutable_metadata() = std::move(*value.mutable_struct_value());
  }
  if (from.locality != locality()) {
    to.mutable_locality()->set_region(from.locality.region);
    to.mutable_locality()->set_zone(from.locality.zone);
    to.mutable_locality()->set_sub_zone(from.locality.sub_zone);
  }
  to.set_user_agent_name(user_agent_name);
  to.set_user_agent_version(user_agent_version);
  to.add_client_features("envoy.lb.does_not_support_overprovisioning");
  to.add_client_features("xds.config.resource-in-sotw");
  return to;
}

}  // namespace coracle::xds
