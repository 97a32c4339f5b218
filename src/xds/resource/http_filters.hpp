// http_filters: the filters that a Listener names, and what routes override of them (gRFC A39).
#pragma once

#include "xds/filters/filter.hpp"
#include "xds/resource/field_path.hpp"
#include "xds/resource/resource_rules.hpp"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/map.h>
#include <google/protobuf/repeated_field.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace coracle::xds {

namespace wire {
class HttpFilter;
}

// A filter by its name: of a Listener, or in place of that.
struct http_filter {
  std::string name;
  std::string type;  // of its configuration
  std::string content;  // as received
  std::shared_ptr<const filter> applied;  // null: it does nothing
  const void* kind = nullptr;  // of the filter, to be compared

  friend bool operator==(const http_filter& a, const http_filter& b) noexcept {
    return a.name == b.name && a.type == b.type && a.content == b.content;
  }
};
using http_filters = std::vector<http_filter>;

// Without the router, and without the optional ones that this library does not know. Throws invalid_resource.
[[nodiscard]] http_filters read_http_filters(const google::protobuf::RepeatedPtrField<wire::HttpFilter>& from,
                                             const reading& how, const field_path& at);
// Reads typed_per_filter_config, a field of the message `at`. Throws invalid_resource.
[[nodiscard]] http_filters read_filter_overrides(
    const google::protobuf::Map<std::string, google::protobuf::Any>& from, const reading& how,
    matcher_reader& matchers, const field_path& at);

// The filter that is applied in place of `of` under overrides, the most specific first; null: none. An
// override for another kind of filter fails calls: else a filter that guards them would be gone.
[[nodiscard]] const filter* applied_filter(const http_filter& of,
                                           std::span<const http_filters* const> overrides) noexcept;

}  // namespace coracle::xds
