#include "xds/resource/element_count.hpp"

#include "xds/resource/resource.hpp"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

namespace coracle::xds {

namespace {

// A field with lists: itself one, or a message or an Any on the way to them. Numbers may be packed: then the
// elements of a list are those in its content.
struct list_field {
  int number;
  bool is_list;
  std::span<const list_field> within = {};
  bool is_number = false;
};

// google.protobuf.Struct, whose values contain others.
extern const list_field value_fields[2];
constexpr list_field struct_entry[] = {{2, false, value_fields}};
constexpr list_field struct_fields[] = {{1, true, struct_entry}};
constexpr list_field values_fields[] = {{1, true, value_fields}};
constexpr list_field value_fields[2] = {{5, false, struct_fields}, {6, false, values_fields}};
constexpr list_field struct_of_metadata[] = {{2, false, struct_fields}};
constexpr list_field metadata_fields[] = {{1, true, struct_of_metadata}, {2, true}};

constexpr list_field endpoint_fields[] = {{4, true}};
constexpr list_field lb_endpoint_fields[] = {{1, false, endpoint_fields}, {3, false, metadata_fields}};
constexpr list_field lb_endpoint_list[] = {{1, true, lb_endpoint_fields}};
constexpr list_field locality_fields[] = {
    {2, true, lb_endpoint_fields}, {7, false, lb_endpoint_list}, {9, false, metadata_fields}};
constexpr list_field policy_fields[] = {{2, true}};
constexpr list_field assignment_fields[] = {{2, true, locality_fields}, {4, false, policy_fields}};

constexpr list_field match_fields[] = {{6, true}, {7, true}};
constexpr list_field weight_fields[] = {{10, true}};
constexpr list_field weights_fields[] = {{1, true, weight_fields}};
constexpr list_field action_fields[] = {{3, false, weights_fields}, {15, true}};
constexpr list_field route_fields[] = {{1, false, match_fields}, {2, false, action_fields}, {13, true}};
constexpr list_field host_fields[] = {{2, true}, {3, true, route_fields}, {15, true}};
constexpr list_field routes_fields[] = {{2, true, host_fields}, {12, true}};

constexpr list_field manager_fields[] = {{4, false, routes_fields}, {5, true}, {46, true}};
constexpr list_field manager_any[] = {{2, false, manager_fields}};
constexpr list_field api_listener_fields[] = {{1, false, manager_any}};

constexpr list_field breaker_fields[] = {{1, true}, {2, true}};
constexpr list_field names_fields[] = {{1, true}};
constexpr list_field names_any[] = {{2, false, names_fields}};
constexpr list_field cluster_type_fields[] = {{2, false, names_any}};
// Policies contain policies, in WrrLocality and in RandomSubsetting; metrics are those of
// ClientSideWeightedRoundRobin, and a TypedStruct has a Struct.
extern const list_field policies_fields[1];
constexpr list_field policy_config[] = {
    {1, false, policies_fields}, {2, false, policies_fields}, {2, false, struct_fields}, {7, true}};
constexpr list_field policy_any[] = {{2, false, policy_config}};
constexpr list_field policy_extension[] = {{2, false, policy_any}};
constexpr list_field policy_entry[] = {{4, false, policy_extension}};
constexpr list_field policies_fields[1] = {{1, true, policy_entry}};
constexpr list_field validation_fields[] = {{2, true}, {3, true}, {9, true}};
constexpr list_field combined_fields[] = {{1, false, validation_fields}};
constexpr list_field tls_fields[] = {
    {2, true}, {3, false, validation_fields}, {6, true}, {8, false, combined_fields}};
constexpr list_field tls_context_fields[] = {{1, false, tls_fields}};
constexpr list_field tls_any[] = {{2, false, tls_context_fields}};
constexpr list_field tls_socket_fields[] = {{3, false, tls_any}};
// A proxy's socket contains another one, in the field that has the TLS of the one without.
constexpr list_field proxied_fields[] = {{1, false, tls_socket_fields}, {1, false, tls_fields}};
constexpr list_field socket_any[] = {{2, false, proxied_fields}};
constexpr list_field socket_fields[] = {{3, false, socket_any}};
constexpr list_field statuses_fields[] = {{1, true, {}, true}};
constexpr list_field common_lb_fields[] = {{8, false, statuses_fields}};
constexpr list_field cluster_fields[] = {{10, false, breaker_fields},
                                         {24, false, socket_fields},
                                         {25, false, metadata_fields},
                                         {27, false, common_lb_fields},
                                         {33, false, assignment_fields},
                                         {38, false, cluster_type_fields},
                                         {41, false, policies_fields},
                                         {43, true},
                                         {57, true}};

constexpr list_field network_filter_fields[] = {{4, false, manager_any}};
constexpr list_field chain_match_fields[] = {
    {3, true}, {6, true}, {7, true, {}, true}, {10, true}, {11, true}};
constexpr list_field chain_fields[] = {
    {1, false, chain_match_fields}, {3, true, network_filter_fields}, {6, false, tls_socket_fields}};
constexpr list_field listener_fields[] = {
    {3, true, chain_fields}, {9, true}, {19, false, api_listener_fields}, {25, false, chain_fields}};

// Passes the number and the content of each field with a length on, and the number of each other one with a
// variable size. Groups need no place of their own: their
// fields count as if they were there without them.
template <class Each>
void walk(std::string_view message, const Each& each) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(message.data()),
                                            static_cast<int>(message.size()));
  for (std::uint32_t tag = in.ReadTag(); tag != 0; tag = in.ReadTag()) {
    std::uint64_t number = 0;
    std::uint32_t size = 0;
    switch (tag & 7) {
      case 0:
        if (!in.ReadVarint64(&number)) return;
        each(static_cast<int>(tag >> 3), std::nullopt);
        break;
      case 1:
        if (!in.Skip(8)) return;
        break;
      case 2: {
        if (!in.ReadVarint32(&size)) return;
        const auto at = static_cast<std::size_t>(in.CurrentPosition());
        if (size > message.size() - at || !in.Skip(static_cast<int>(size))) return;
        each(static_cast<int>(tag >> 3), message.substr(at, size));
        break;
      }
      case 5:
        if (!in.Skip(4)) return;
        break;
      default: break;  // where a group begins or ends
    }
  }
}

// The last byte of each number has no highest bit.
std::size_t numbers_in(std::string_view packed) noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(packed, [](char c) { return (c & 0x80) == 0; }));
}

// Deeper than what protobuf's parser accepts, and the policies below each other that are read.
constexpr unsigned depth_max = 256;

std::size_t count(std::string_view message, std::span<const list_field> fields, unsigned depth = 0) {
  std::size_t found = 0;
  walk(message, [&](int number, std::optional<std::string_view> content) {
    for (const list_field& f : fields) {
      if (f.number != number || (!content && !f.is_number)) continue;
      found += f.is_number && content ? numbers_in(*content) : f.is_list;
      if (!f.within.empty() && depth < depth_max) found += count(*content, f.within, depth + 1);
    }
  });
  return found;
}

}  // namespace

std::size_t element_count(resource_kind kind, std::string_view bytes) {
  switch (kind) {
    case resource_kind::listener: return count(bytes, listener_fields);
    case resource_kind::route_configuration: return count(bytes, routes_fields);
    case resource_kind::cluster: return count(bytes, cluster_fields);
    default: return count(bytes, assignment_fields);
  }
}

field_occurrences occurrences(std::string_view message, int number) {
  field_occurrences found;
  walk(message, [&](int of, std::optional<std::string_view> content) {
    if (of != number || !content) return;
    ++found.count;
    found.last = *content;
  });
  return found;
}

}  // namespace coracle::xds
