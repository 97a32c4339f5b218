// http_filters: the filters that a Listener names, and what routes override of them (gRFC A39).
#pragma once

#include "xds/resource/field_path.hpp"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/map.h>
#include <google/protobuf/repeated_field.h>

#include <string>
#include <string_view>
#include <vector>

namespace coracle::xds {

namespace wire {
class HttpFilter;
}

enum class http_filter_kind : unsigned char { router };

struct http_filter {
  std::string name;
  http_filter_kind kind = http_filter_kind::router;

  friend bool operator==(const http_filter&, const http_filter&) = default;
};

// Without the optional filters that this library does not know. Throws invalid_resource.
[[nodiscard]] std::vector<http_filter> read_http_filters(
    const google::protobuf::RepeatedPtrField<wire::HttpFilter>& from, const field_path& at);
// Checks typed_per_filter_config, a field of the message `at`: no filter that is known has overrides. Throws
// invalid_resource.
void check_filter_overrides(const google::protobuf::Map<std::string, google::protobuf::Any>& from,
                            const field_path& at);

}  // namespace coracle::xds
