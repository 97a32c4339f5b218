#include "xds/resource/http_filters.hpp"

#include "base/printable.hpp"
#include "xds/filters/filtered_call.hpp"
#include "xds/limits.hpp"
#include "xds/resource/matchers.hpp"
#include "xds/resource/wire_values.hpp"
#include "xds/wire/listener.pb.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace coracle::xds {

namespace {

// With what filter_source refers to.
struct configured {
  std::string type;
  std::string content;
  bool is_json = false;

  [[nodiscard]] filter_source source(std::string_view name) const noexcept {
    return {name, type, content, is_json};
  }
};

// A TypedStruct names the type of its content.
configured config_of(const google::protobuf::Any& config, const field_path& at) {
  const std::string_view type = type_of(config);
  if (config.value().size() > limits::filter_config_bytes_max)
    at.refuse("has more than " + std::to_string(limits::filter_config_bytes_max) + " bytes");
  if (!is_typed_struct(type)) return {std::string(type), config.value(), false};
  const auto inner = unpacked<wire::TypedStruct>(config, at);
  return {inner.type_url().substr(inner.type_url().rfind('/') + 1), json_of(inner.value()), true};
}

std::string unknown_filter(std::string_view type) {
  return "has the filter " + base::printable(type) + ", which is not supported and not optional";
}

const filter_types& types_of(const reading& how) {
  return how.rules.filters ? *how.rules.filters : filter_types::of_library();
}

// What stands in place of a filter that an override of another kind names.
class refusing final : public filter {
 public:
  void begin_call(filtered_call& call) const override { call.end(reason()); }
  [[nodiscard]] status check_call(const server_context&) const override { return reason(); }

 private:
  static status reason() {
    return status::unavailable(
        "the control plane overrides a filter of the call's route with the configuration of another kind of "
        "filter");
  }
};

const filter& mismatched() {
  static const auto& one = *new refusing;  // never destroyed: calls may run while the program exits
  return one;
}

}  // namespace

http_filters read_http_filters(const google::protobuf::RepeatedPtrField<wire::HttpFilter>& from,
                               const reading& how, const field_path& at) {
  http_filters filters;
  if (static_cast<std::size_t>(from.size()) > limits::filters_max)
    at.at("http_filters").refuse("has more than " + std::to_string(limits::filters_max) + " filters");
  matcher_reader matchers(how.regexes);
  std::unordered_set<std::string_view> names;
  std::optional<std::string> terminal;
  for (int i = 0; i < from.size(); ++i) {
    const wire::HttpFilter& f = from.at(i);
    const field_path here = at.at("http_filters", static_cast<std::size_t>(i));
    const field_path of_config = here.at("typed_config");
    if (f.name().empty()) here.refuse("has no name");
    if (!names.insert(f.name()).second)
      here.refuse("has the name of another filter: " + base::printable(f.name()));
    configured config;
    if (f.has_typed_config()) config = config_of(f.typed_config(), of_config);
    const filter_type* type = types_of(how).with_config(config.type);
    if (type && !type->works_on(how.rules.serves)) type = nullptr;
    if (!type && f.is_optional()) continue;
    if (!f.has_typed_config()) here.refuse("has no typed_config");
    if (!type) here.refuse(unknown_filter(config.type));
    auto applied = type->read(config.source(f.name()), matchers, of_config);
    if (terminal) here.refuse("follows the terminal filter " + base::printable(*terminal));
    if (type->is_terminal()) terminal = f.name();
    else
      filters.push_back(
          {f.name(), std::move(config.type), std::move(config.content), std::move(applied), type});
  }
  if (filters.empty() && !terminal) at.at("http_filters").refuse("is empty; it requires a router");
  if (!terminal) at.at("http_filters").refuse("does not end with a terminal filter, the router");
  return filters;
}

http_filters read_filter_overrides(const google::protobuf::Map<std::string, google::protobuf::Any>& from,
                                   const reading& how, matcher_reader& matchers, const field_path& at) {
  http_filters overrides;
  if (from.size() > limits::filters_max)
    at.at("typed_per_filter_config")
        .refuse("has more than " + std::to_string(limits::filters_max) + " overrides");
  for (const auto& [name, any] : from) {
    const field_path here = at.at("typed_per_filter_config", name);
    bool optional = false;
    google::protobuf::Any config = any;
    if (type_of(any) == "envoy.config.route.v3.FilterConfig") {
      auto inner = unpacked<wire::FilterConfig>(any, here);
      optional = inner.is_optional();
      config = std::move(*inner.mutable_config());
    }
    configured by = config_of(config, here);
    const filter_type* const type = types_of(how).with_override(by.type);
    if (!type && optional) continue;
    if (!type) here.refuse(unknown_filter(by.type));
    auto applied = type->read_override(by.source(name), matchers, here);
    overrides.push_back({name, std::move(by.type), std::move(by.content), std::move(applied), type});
  }
  std::ranges::sort(overrides, {}, &http_filter::name);  // a map has no order
  return overrides;
}

const filter* applied_filter(const http_filter& of, std::span<const http_filters* const> overrides) noexcept {
  for (const http_filters* const each : overrides)
    for (const http_filter& o : *each)
      if (o.name == of.name) return o.kind == of.kind ? o.applied.get() : &mismatched();
  return of.applied.get();
}

}  // namespace coracle::xds
