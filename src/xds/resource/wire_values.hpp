// wire_values: reads what several resources have in common.
#pragma once

#include "coracle/base/clock.hpp"
#include "net/address_range.hpp"
#include "xds/bootstrap/bootstrap.hpp"
#include "xds/resource/field_path.hpp"
#include "xds/wire/core.pb.h"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/struct.pb.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace coracle::xds {

inline constexpr std::uint64_t weight_sum_max = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::uint32_t million = 1'000'000;

// The full name of the message in `any`: "envoy.config.listener.v3.Listener".
[[nodiscard]] std::string_view type_of(const google::protobuf::Any& any) noexcept;
[[nodiscard]] bool is_typed_struct(std::string_view type) noexcept;

template <class Message>
Message unpacked(const google::protobuf::Any& any, const field_path& at) {
  Message m;
  if (!m.ParseFromString(any.value())) at.refuse("is not a valid " + std::string(type_of(any)));
  return m;
}

// Refuses a negative one. What does not fit is duration::max().
[[nodiscard]] duration duration_of(const google::protobuf::Duration& d, const field_path& at);
// "1.5s" with its quotes, protobuf's JSON form.
[[nodiscard]] std::string json_of_duration(duration d);
// Parts per million, not limited to a million.
[[nodiscard]] std::uint64_t millionths_of(const wire::FractionalPercent& p, const field_path& at);
[[nodiscard]] net::address_range range_of(const wire::CidrRange& from, const field_path& at);
// Its members in the order of their names. Bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string json_of(const google::protobuf::Struct& s);
// Refuses a source other than the stream that brought the resource.
void require_same_stream(const wire::ConfigSource& source, const field_path& at);
[[nodiscard]] locality locality_of(const wire::Locality& l);

}  // namespace coracle::xds
