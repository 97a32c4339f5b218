// resource: what a control plane sends, validated: each resource is a plain struct that does not change (gRFC
// A27, A46).
#pragma once

#include "coracle/base/result.hpp"
#include "xds/resource/cluster.hpp"
#include "xds/resource/endpoints.hpp"
#include "xds/resource/listener.hpp"
#include "xds/resource/resource_rules.hpp"
#include "xds/resource/route_configuration.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace coracle::xds {

namespace wire {
class DiscoveryResponse;
}

// "envoy.config.listener.v3.Listener"
[[nodiscard]] std::string_view type_name(resource_kind kind) noexcept;
// "type.googleapis.com/envoy.config.listener.v3.Listener"
[[nodiscard]] std::string type_url(resource_kind kind);
// What stands before the last "/" of the URL does not matter.
[[nodiscard]] std::optional<resource_kind> kind_of_url(std::string_view url) noexcept;
// Whether the plane deletes a resource by not sending it: a response has all Listeners and all Clusters.
[[nodiscard]] constexpr bool is_deleted_by_omission(resource_kind kind) noexcept {
  return kind == resource_kind::listener || kind == resource_kind::cluster;
}

// Each takes the serialized message, of at most limits::resource_bytes_max. INVALID_ARGUMENT with the path of
// the field that is invalid.
[[nodiscard]] result<std::shared_ptr<const listener>> parse_listener(std::string_view bytes,
                                                                     const resource_rules& rules);
[[nodiscard]] result<std::shared_ptr<const route_configuration>> parse_route_configuration(
    std::string_view bytes, const resource_rules& rules);
[[nodiscard]] result<std::shared_ptr<const cluster>> parse_cluster(std::string_view bytes,
                                                                   const resource_rules& rules);
[[nodiscard]] result<std::shared_ptr<const cluster_endpoints>> parse_endpoints(std::string_view bytes,
                                                                               const resource_rules& rules);

// Which of them it is agrees with its resource_kind.
using resource = std::variant<std::shared_ptr<const listener>, std::shared_ptr<const route_configuration>,
                              std::shared_ptr<const cluster>, std::shared_ptr<const cluster_endpoints>>;

struct received_resource {
  std::string name;  // canonical; empty if it is not known
  std::string bytes;  // as received
  result<resource> content;
  std::size_t regexes = 0;  // regular expressions in it
  std::size_t elements = 0;  // of its lists, if it is valid
};

// gRFC A88
struct received_error {
  std::string name;  // canonical
  status reason;
};

struct received_response {
  std::optional<resource_kind> kind;  // nothing for a type that is not known
  std::string version;
  std::string nonce;
  std::vector<received_resource> resources;
  std::vector<received_error> errors;
};

// Validates each resource by itself.
[[nodiscard]] received_response read_response(wire::DiscoveryResponse from, const resource_rules& rules);
// As above, of a serialized response. One with more than limits::resources_per_response_max resources or
// errors has, in place of them all, a resource that is invalid and has no name. INTERNAL if it is malformed.
[[nodiscard]] result<received_response> read_response(std::string_view bytes, const resource_rules& rules);

}  // namespace coracle::xds
