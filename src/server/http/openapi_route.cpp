#include "server/http/openapi_route.hpp"

#include "protocol/connect/content_type.hpp"
#include "server/server_state.hpp"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace coracle::server_internal {

namespace {

using google::protobuf::ServiceDescriptor;

// Those with descriptors, in the order in which they were added.
std::vector<const ServiceDescriptor*> described_services(const router& routes) {
  std::vector<const ServiceDescriptor*> all;
  for (const service* const s : routes.services()) {
    for (const method& m : s->methods()) {  // "/package.Service/Method"
      const std::string_view name = std::string_view(m.path).substr(1);
      const auto* const found = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
          std::string(name.substr(0, name.find('/'))));
      if (found && std::find(all.begin(), all.end(), found) == all.end()) all.push_back(found);
    }
  }
  return all;
}

}  // namespace

result<http_route> openapi_route(const server_state& of, openapi_options options, std::string_view path) {
  const bool yaml = path.ends_with(".yaml") || path.ends_with(".yml");
  options.rest = options.rest && of.http.has_rest();
  options.json_methods = options.json_methods && of.options.web.connect &&
                         of.routes.connect_subtypes.find(protocol::connect::json_codec);
  options.http_rules = of.http.options().http_rules;
  options.proto_field_names = of.http.options().proto_field_names;
  options.format = yaml ? openapi_format::yaml : openapi_format::json;
  auto document = openapi_document(described_services(of.routes), options);
  if (!document.ok()) return document.status();
  const auto text = std::make_shared<const std::string>(*std::move(document));
  const char* const type = yaml ? "application/yaml" : "application/json";
  return http_route("GET", path, [text, type](const http_request&) -> task<http_response> {
    http_response response;
    response.header("content-type", type).body = *text;
    co_return response;
  });
}

}  // namespace coracle::server_internal
