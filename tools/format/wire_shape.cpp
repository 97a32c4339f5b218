#include "tools/format/wire_shape.hpp"

#include "tools/utf8.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;

// The wire types of protobuf's encoding ("Message Structure").
enum wire_type : unsigned { varint = 0, eight_bytes = 1, with_length = 2, four_bytes = 5 };

wire_type wire_type_of(const pb::FieldDescriptor& field) {
  using type = pb::FieldDescriptor;
  switch (field.type()) {
    case type::TYPE_DOUBLE:
    case type::TYPE_FIXED64:
    case type::TYPE_SFIXED64: return eight_bytes;
    case type::TYPE_FLOAT:
    case type::TYPE_FIXED32:
    case type::TYPE_SFIXED32: return four_bytes;
    case type::TYPE_STRING:
    case type::TYPE_BYTES:
    case type::TYPE_MESSAGE:
    case type::TYPE_GROUP: return with_length;
    default: return varint;
  }
}

std::optional<std::uint64_t> take_varint(std::string_view& from) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < from.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(from[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      from.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

// True also for a negative zero, and for a varint with redundant bytes.
bool is_zero(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) { return (c & 0x7f) == 0; });
}

}  // namespace

struct wire_shape::field {
  explicit field(const pb::FieldDescriptor& d)
      : descriptor(&d),
        number(static_cast<std::uint32_t>(d.number())),
        wire(wire_type_of(d)),
        oneof(d.real_containing_oneof() ? d.real_containing_oneof()->index() : -1),
        may_be_zero(d.is_repeated() || d.has_presence()) {}

  const pb::FieldDescriptor* descriptor;
  std::uint32_t number;
  wire_type wire;
  int oneof;  // -1: not in a oneof
  bool may_be_zero;
  std::unique_ptr<wire_shape> inner;  // for a message field, created when the first one is found
};

wire_shape::wire_shape(const pb::Descriptor& type) {
  for (int i = 0; i < type.field_count(); ++i) {
    fields_.emplace_back(*type.field(i));
    always_unusual_ |= type.field(i)->is_required();
  }
  always_unusual_ |= type.oneof_decl_count() > 64;
  std::sort(fields_.begin(), fields_.end(),
            [](const field& a, const field& b) { return a.number < b.number; });
}

wire_shape::~wire_shape() = default;

// The fields must be in the order of their numbers, each at most once, and those of a repeated field
// together: that is how all protobuf implementations write messages, except for unknown fields.
bool wire_shape::is_usual(std::string_view bytes, int depth) {
  if (always_unusual_ || depth > depth_max) return false;
  std::uint64_t last = 0;
  std::uint64_t oneofs = 0;
  auto known = fields_.begin();
  while (!bytes.empty()) {
    const auto tag = take_varint(bytes);
    if (!tag || *tag >> 3 == 0 || *tag > 0xffffffff || *tag >> 3 < last >> 3) return false;
    std::string_view value = bytes;
    std::size_t size = 0;
    switch (*tag & 7) {
      case varint:
        if (!take_varint(bytes)) return false;
        size = value.size() - bytes.size();
        bytes = value;
        break;
      case eight_bytes: size = 8; break;
      case four_bytes: size = 4; break;
      case with_length: {
        const auto length = take_varint(bytes);
        if (!length || *length > bytes.size()) return false;
        value = bytes;
        size = *length;
        break;
      }
      default: return false;
    }
    if (size > bytes.size()) return false;
    value = value.substr(0, size);
    bytes.remove_prefix(size);

    while (known != fields_.end() && known->number < *tag >> 3) ++known;
    const bool again = *tag >> 3 == last >> 3;
    const bool same_tag = *tag == last;
    last = *tag;
    if (known == fields_.end() || known->number != *tag >> 3) continue;  // unknown fields are not printed
    const bool repeated = known->descriptor->is_repeated();
    if (again && !(repeated && same_tag)) return false;
    if (known->oneof >= 0) {
      const std::uint64_t bit = std::uint64_t{1} << known->oneof;
      if (oneofs & bit) return false;
      oneofs |= bit;
    }
    if ((*tag & 7) == known->wire) {
      if (!is_usual(*known, value, depth)) return false;
    } else if (!repeated || (*tag & 7) != with_length || again || value.empty() ||
               known->descriptor->enum_type()) {
      return false;  // neither the field's own wire type nor several packed numbers
    }
  }
  return true;
}

bool wire_shape::is_usual(field& known, std::string_view value, int depth) {
  const pb::FieldDescriptor& d = *known.descriptor;
  if (d.type() == pb::FieldDescriptor::TYPE_GROUP || d.is_map()) return false;
  if (const pb::Descriptor* const type = d.message_type()) {
    if (!known.inner) known.inner = std::make_unique<wire_shape>(*type);
    return known.inner->is_usual(value, depth + 1);
  }
  if (!known.may_be_zero && is_zero(value)) return false;
  if (const pb::EnumDescriptor* const choices = d.enum_type()) {
    const auto number = take_varint(value);
    return number && choices->FindValueByNumber(static_cast<int>(*number));
  }
  return d.type() != pb::FieldDescriptor::TYPE_STRING || is_utf8(value);
}

}  // namespace coracle::tools
