#include "xds/resource/wire_values.hpp"

#include "base/printable.hpp"
#include "xds/resource/json_object.hpp"

#include <map>

namespace coracle::xds {

std::string_view type_of(const google::protobuf::Any& any) noexcept {
  const std::string_view url = any.type_url();
  return url.substr(url.rfind('/') + 1);
}

bool is_typed_struct(std::string_view type) noexcept {
  return type == "xds.type.v3.TypedStruct" || type == "udpa.type.v1.TypedStruct";
}

duration duration_of(const google::protobuf::Duration& d, const field_path& at) {
  constexpr std::int64_t seconds_max = 315'576'000'000;  // protobuf's limit
  if (d.seconds() < 0 || d.nanos() < 0) at.refuse("must not be negative");
  if (d.seconds() > seconds_max || d.nanos() >= 1'000'000'000) at.refuse("is not a valid duration");
  if (d.seconds() > std::chrono::duration_cast<std::chrono::seconds>(duration::max()).count() - 1)
    return duration::max();
  return std::chrono::seconds(d.seconds()) + duration(d.nanos());
}

std::string json_of_duration(duration d) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(d);
  std::string fraction = std::to_string((d - whole).count());
  fraction.insert(0, 9 - fraction.size(), '0');
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  return "\"" + std::to_string(whole.count()) + (fraction.empty() ? "" : ".") + fraction + "s\"";
}

std::uint64_t millionths_of(const wire::FractionalPercent& p, const field_path& at) {
  switch (p.denominator()) {
    case 0: return std::uint64_t{p.numerator()} * (million / 100);
    case 1: return std::uint64_t{p.numerator()} * (million / 10'000);
    case 2: return p.numerator();
    default: at.refuse("has an unknown denominator: " + std::to_string(p.denominator()));
  }
}

net::address_range range_of(const wire::CidrRange& from, const field_path& at) {
  const std::string& text = from.address_prefix();
  const bool is_v6 = text.find(':') != text.npos;
  const auto parsed = net::address::parse((is_v6 ? "[" + text + "]" : text) + ":0");
  if (!parsed || !parsed->is_ip())
    at.refuse("has an address_prefix that is not an IP address: \"" + base::printable(text) + "\"");
  const std::uint32_t bits = from.prefix_len().value();
  if (bits > net::address_range::bits_of(parsed->kind()))
    at.refuse("has a prefix_len of " + std::to_string(bits) + ", more than the address has bits");
  // Rules look at addresses without their mapping into IPv6, so that ::ffff:10.0.0.0/104 is 10.0.0.0/8.
  constexpr std::uint32_t mapping_bits = 96;
  const net::address plain = net::without_mapping(*parsed);
  if (plain.kind() != parsed->kind() && bits >= mapping_bits)
    return net::address_range::of(plain, bits - mapping_bits);
  return net::address_range::of(*parsed, bits);
}

namespace {

// protobuf's parser bounds the depth.
std::string json_of_value(const google::protobuf::Value& v) {
  switch (v.kind_case()) {
    case google::protobuf::Value::kNumberValue: return json_of(v.number_value());
    case google::protobuf::Value::kStringValue: return json_of(std::string_view(v.string_value()));
    case google::protobuf::Value::kBoolValue: return json_of(v.bool_value());
    case google::protobuf::Value::kStructValue: return json_of(v.struct_value());
    case google::protobuf::Value::kListValue: {
      std::string list;
      for (const auto& each : v.list_value().values())
        list.append(list.empty() ? "" : ",").append(json_of_value(each));
      return "[" + list + "]";
    }
    default: return "null";
  }
}

}  // namespace

std::string json_of(const google::protobuf::Struct& s) {
  json_object object;
  for (const auto& [name, value] : std::map(s.fields().begin(), s.fields().end()))
    object.add(name, json_of_value(value));
  return object.text();
}

void require_same_stream(const wire::ConfigSource& source, const field_path& at) {
  if (source.source_case() == wire::ConfigSource::SOURCE_NOT_SET) at.refuse("must be ads or self");
}

locality locality_of(const wire::Locality& l) { return {l.region(), l.zone(), l.sub_zone()}; }

}  // namespace coracle::xds
