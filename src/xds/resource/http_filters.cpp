#include "xds/resource/http_filters.hpp"

#include "base/printable.hpp"
#include "xds/resource/wire_values.hpp"
#include "xds/wire/listener.pb.h"

#include <optional>
#include <unordered_set>

namespace coracle::xds {

namespace {

std::optional<http_filter_kind> kind_of(std::string_view type) {
  if (type == "envoy.extensions.filters.http.router.v3.Router") return http_filter_kind::router;
  return std::nullopt;
}

bool is_terminal(http_filter_kind kind) { return kind == http_filter_kind::router; }

// A TypedStruct names the type of its content.
std::string inner_type_of(const google::protobuf::Any& config, const field_path& at) {
  const std::string_view type = type_of(config);
  if (!is_typed_struct(type)) return std::string(type);
  const auto inner = unpacked<wire::TypedStruct>(config, at);
  return inner.type_url().substr(inner.type_url().rfind('/') + 1);
}

std::string unknown_filter(std::string_view type) {
  return "has the filter " + base::printable(type) + ", which is not supported and not optional";
}

}  // namespace

std::vector<http_filter> read_http_filters(const google::protobuf::RepeatedPtrField<wire::HttpFilter>& from,
                                           const field_path& at) {
  std::vector<http_filter> filters;
  std::unordered_set<std::string_view> names;
  for (int i = 0; i < from.size(); ++i) {
    const wire::HttpFilter& f = from.at(i);
    const field_path here = at.at("http_filters", static_cast<std::size_t>(i));
    if (f.name().empty()) here.refuse("has no name");
    if (!names.insert(f.name()).second)
      here.refuse("has the name of another filter: " + base::printable(f.name()));
    const std::string type =
        f.has_typed_config() ? inner_type_of(f.typed_config(), here.at("typed_config")) : std::string();
    const auto kind = kind_of(type);
    if (!kind && f.is_optional()) continue;
    if (!f.has_typed_config()) here.refuse("has no typed_config");
    if (!kind) here.refuse(unknown_filter(type));
    if (!is_typed_struct(type_of(f.typed_config())))
      (void)unpacked<wire::Router>(f.typed_config(), here.at("typed_config"));
    if (!filters.empty() && is_terminal(filters.back().kind))
      here.refuse("follows the terminal filter " + base::printable(filters.back().name));
    filters.push_back({f.name(), *kind});
  }
  if (filters.empty()) at.at("http_filters").refuse("is empty; it requires a router");
  if (!is_terminal(filters.back().kind))
    at.at("http_filters").refuse("does not end with a terminal filter, the router");
  return filters;
}

void check_filter_overrides(const google::protobuf::Map<std::string, google::protobuf::Any>& from,
                            const field_path& at) {
  for (const auto& [name, any] : from) {
    const field_path here = at.at("typed_per_filter_config", name);
    bool optional = false;
    google::protobuf::Any config = any;
    if (type_of(any) == "envoy.config.route.v3.FilterConfig") {
      auto inner = unpacked<wire::FilterConfig>(any, here);
      optional = inner.is_optional();
      config = std::move(*inner.mutable_config());
    }
    const std::string type = inner_type_of(config, here);
    if (kind_of(type) == http_filter_kind::router)
      here.refuse("overrides the router, which has nothing to override");
    if (!optional) here.refuse(unknown_filter(type));
  }
}

}  // namespace coracle::xds
