#include "xds/resource/resource.hpp"

#include "base/printable.hpp"
#include "xds/bootstrap/resource_name.hpp"
#include "xds/limits.hpp"
#include "xds/resource/element_count.hpp"
#include "xds/resource/matchers.hpp"
#include "xds/resource/wire_values.hpp"
#include "xds/wire/cluster.pb.h"
#include "xds/wire/discovery.pb.h"
#include "xds/wire/endpoint.pb.h"
#include "xds/wire/listener.pb.h"
#include "xds/wire/route.pb.h"

#include <unordered_set>
#include <utility>

namespace coracle::xds {

namespace {

constexpr std::string_view type_names[] = {
    "envoy.config.listener.v3.Listener", "envoy.config.route.v3.RouteConfiguration",
    "envoy.config.cluster.v3.Cluster", "envoy.config.endpoint.v3.ClusterLoadAssignment"};

// Without parsing the message: a field that all types have.
std::string_view name_in(std::string_view bytes) { return occurrences(bytes, 1).last; }
const std::string& name_in(const wire::Listener& m) { return m.name(); }
const std::string& name_in(const wire::RouteConfiguration& m) { return m.name(); }
const std::string& name_in(const wire::Cluster& m) { return m.name(); }
const std::string& name_in(const wire::ClusterLoadAssignment& m) { return m.cluster_name(); }

listener read_one(const wire::Listener& m, const reading& how, const field_path& at) {
  return how.rules.serves ? read_server_listener(m, how, at) : read_listener(m, how, at);
}
route_configuration read_one(const wire::RouteConfiguration& m, const reading& how, const field_path& at) {
  return read_route_configuration(m, how, at);
}
cluster read_one(const wire::Cluster& m, const reading& how, const field_path& at) {
  return read_cluster(m, how.rules.has_provider, how.rules.has_policy, how.regexes, at);
}
cluster_endpoints read_one(const wire::ClusterLoadAssignment& m, const reading&, const field_path& at) {
  return read_endpoints(m, at);
}

status invalid(resource_kind kind, std::string_view name, std::string_view reason) {
  const std::string_view type = type_name(kind);
  std::string text(type.substr(type.rfind('.') + 1));
  if (!name.empty()) text.append(" \"").append(base::printable(name)).append("\"");
  return status::invalid_argument(text.append(": ").append(reason));
}

// Sets the name as soon as it is known.
template <class Plain, class Message>
result<std::shared_ptr<const Plain>> parse_one(resource_kind kind, std::string_view bytes,
                                               const resource_rules& rules, regex_allowance& regexes,
                                               std::string& name) {
  const bool is_large = bytes.size() > limits::resource_bytes_max;
  const bool has_many = !is_large && element_count(kind, bytes) > limits::elements_per_resource_max;
  if (is_large || has_many) {
    if (const std::string_view own = name_in(bytes); !own.empty()) name = own;
  }
  if (is_large) {
    return invalid(kind, name,
                   "has " + std::to_string(bytes.size()) + " bytes, limit " +
                       std::to_string(limits::resource_bytes_max));
  }
  if (has_many) {
    return invalid(
        kind, name,
        "has more than " + std::to_string(limits::elements_per_resource_max) + " elements in its lists");
  }
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return invalid(kind, name, "is malformed protobuf");
  if (name_in(message).empty()) return invalid(kind, name, "has no name");
  name = name_in(message);
  try {
    return std::make_shared<const Plain>(read_one(message, reading{rules, regexes}, field_path()));
  } catch (const invalid_resource& e) {
    return invalid(kind, name, e.text);
  }
}

template <class Plain>
result<resource> as_resource(result<std::shared_ptr<const Plain>> parsed) {
  if (!parsed) return parsed.status();
  return resource(*std::move(parsed));
}

result<resource> parse_any(resource_kind kind, std::string_view bytes, const resource_rules& rules,
                           regex_allowance& regexes, std::string& name) {
  switch (kind) {
    case resource_kind::listener:
      return as_resource(parse_one<listener, wire::Listener>(kind, bytes, rules, regexes, name));
    case resource_kind::route_configuration:
      return as_resource(
          parse_one<route_configuration, wire::RouteConfiguration>(kind, bytes, rules, regexes, name));
    case resource_kind::cluster:
      return as_resource(parse_one<cluster, wire::Cluster>(kind, bytes, rules, regexes, name));
    default:
      return as_resource(
          parse_one<cluster_endpoints, wire::ClusterLoadAssignment>(kind, bytes, rules, regexes, name));
  }
}

// Whether nothing of a resource is to be known. One without a valid name is not left out: it is an error.
bool is_left_out(resource_kind kind, std::string_view bytes, const resource_rules& rules) {
  if (!rules.is_watched) return false;
  const auto name = parse_resource_name(name_in(bytes), type_name(kind));
  return name && !name->canonical.empty() && !rules.is_watched(kind, name->canonical);
}

// The wrapper's name stands for that of a resource whose own is not known. Nothing if it has no watch.
std::optional<received_resource> read_resource(resource_kind kind, google::protobuf::Any any,
                                               const resource_rules& rules, regex_allowance& regexes,
                                               std::size_t& elements_left) {
  std::string name;
  if (type_of(any) == "envoy.service.discovery.v3.Resource") {
    wire::WrappedResource wrapped;
    if (!wrapped.ParseFromString(any.value()))
      return received_resource{"", "", invalid(kind, "", "is malformed protobuf")};
    name = std::move(*wrapped.mutable_name());
    any = std::move(*wrapped.mutable_resource());
  }
  received_resource to{"", std::move(*any.mutable_value()), status::internal()};
  if (type_of(any) != type_name(kind))
    to.content = invalid(kind, name, "is of an unexpected resource type: " + base::printable(type_of(any)));
  else if (is_left_out(kind, to.bytes, rules)) return std::nullopt;
  else if (const std::size_t elements = element_count(kind, to.bytes); elements > elements_left) {
    if (const std::string_view own = name_in(to.bytes); !own.empty()) name = own;
    to.content =
        invalid(kind, name,
                "has " + std::to_string(elements) + " elements in its lists, which exceed those of " +
                    "a response, limit " + std::to_string(limits::cached_elements_max));
  } else {
    const std::size_t before = regexes.left;
    to.content = parse_any(kind, to.bytes, rules, regexes, name);
    to.regexes = before - regexes.left;
    if (to.content.ok()) to.elements = elements;
    elements_left -= to.elements;
  }
  const auto parsed = parse_resource_name(name, type_name(kind));
  if (!parsed) {
    to.content = invalid(kind, name, "has a name that is not valid for its type");
    return to;
  }
  to.name = parsed->canonical;
  return to;
}

}  // namespace

std::string_view type_name(resource_kind kind) noexcept { return type_names[static_cast<std::size_t>(kind)]; }

std::string type_url(resource_kind kind) {
  return std::string("type.googleapis.com/").append(type_name(kind));
}

std::optional<resource_kind> kind_of_url(std::string_view url) noexcept {
  const std::string_view name = url.substr(url.rfind('/') + 1);
  for (const resource_kind each : resource_kinds)
    if (type_name(each) == name) return each;
  return std::nullopt;
}

result<std::shared_ptr<const listener>> parse_listener(std::string_view bytes, const resource_rules& rules) {
  std::string name;
  regex_allowance regexes{limits::regexes_max};
  return parse_one<listener, wire::Listener>(resource_kind::listener, bytes, rules, regexes, name);
}
result<std::shared_ptr<const route_configuration>> parse_route_configuration(std::string_view bytes,
                                                                             const resource_rules& rules) {
  std::string name;
  regex_allowance regexes{limits::regexes_max};
  return parse_one<route_configuration, wire::RouteConfiguration>(resource_kind::route_configuration, bytes,
                                                                  rules, regexes, name);
}
result<std::shared_ptr<const cluster>> parse_cluster(std::string_view bytes, const resource_rules& rules) {
  std::string name;
  regex_allowance regexes{limits::regexes_max};
  return parse_one<cluster, wire::Cluster>(resource_kind::cluster, bytes, rules, regexes, name);
}
result<std::shared_ptr<const cluster_endpoints>> parse_endpoints(std::string_view bytes,
                                                                 const resource_rules& rules) {
  std::string name;
  regex_allowance regexes{limits::regexes_max};
  return parse_one<cluster_endpoints, wire::ClusterLoadAssignment>(resource_kind::endpoints, bytes, rules,
                                                                   regexes, name);
}

received_response read_response(wire::DiscoveryResponse from, const resource_rules& rules) {
  received_response to;
  to.kind = kind_of_url(from.type_url());
  to.version = std::move(*from.mutable_version_info());
  to.nonce = std::move(*from.mutable_nonce());
  if (!to.kind) return to;
  std::unordered_set<std::string> names;
  regex_allowance regexes{limits::regexes_max};
  std::size_t elements_left = limits::cached_elements_max;
  for (google::protobuf::Any& any : *from.mutable_resources()) {
    auto read = read_resource(*to.kind, std::move(any), rules, regexes, elements_left);
    if (!read) continue;
    received_resource& one = *read;
    if (!one.name.empty() && !names.insert(one.name).second) {
      // The first one stays what it is.
      one.content = invalid(*to.kind, one.name, "occurs twice in a response");
      one.name.clear();
    }
    to.resources.push_back(std::move(one));
  }
  for (wire::ResourceError& e : *from.mutable_resource_errors()) {
    const auto parsed = parse_resource_name(e.resource_name().name(), type_name(*to.kind));
    if (!parsed) continue;
    const int code = e.error_detail().code();
    if (code == 0) continue;  // no error
    to.errors.push_back({parsed->canonical, status(code > 0 && code <= 16 ? static_cast<status_code>(code)
                                                                          : status_code::unknown,
                                                   base::printable(e.error_detail().message()))});
  }
  return to;
}

result<received_response> read_response(std::string_view bytes, const resource_rules& rules) {
  constexpr int resources_field = 2;
  constexpr int errors_field = 7;
  const std::size_t resources = occurrences(bytes, resources_field).count;
  const std::size_t errors = occurrences(bytes, errors_field).count;
  if (resources <= limits::resources_per_response_max && errors <= limits::resources_per_response_max) {
    wire::DiscoveryResponse response;
    if (!response.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return status::internal("the control plane has sent a response that is malformed protobuf");
    if (std::max(response.version_info().size(), response.nonce().size()) > limits::version_bytes_max)
      return status::resource_exhausted("the control plane has sent a version or a nonce of more than " +
                                        std::to_string(limits::version_bytes_max) + " bytes");
    return read_response(std::move(response), rules);
  }
  received_response to;
  to.kind = kind_of_url(occurrences(bytes, 4).last);
  to.version = occurrences(bytes, 1).last;
  to.nonce = occurrences(bytes, 5).last;
  if (!to.kind) return to;
  to.resources.push_back(
      {"", "",
       status::invalid_argument("the response has " + std::to_string(resources) + " resources and " +
                                std::to_string(errors) + " errors, limit " +
                                std::to_string(limits::resources_per_response_max))});
  return to;
}

}  // namespace coracle::xds
