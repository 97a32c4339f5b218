#include "rpc/message_footprint.hpp"

#include <google/protobuf/arena.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace coracle::rpc {

namespace {

namespace protobuf = google::protobuf;
using protobuf::FieldDescriptor;

constexpr std::size_t pointer_bytes = sizeof(void*);
constexpr std::size_t string_bytes = sizeof(std::string);
constexpr std::size_t unknown_field_bytes = sizeof(protobuf::UnknownField);
// The first unknown field of a message allocates the set of them, and the pointer to its arena.
constexpr std::size_t unknown_set_bytes = sizeof(protobuf::UnknownFieldSet) + pointer_bytes;
// A node of a map: the pointer to the next one, and its share of the table, of which a quarter or more is
// empty.
constexpr std::size_t map_node_bytes = pointer_bytes + 3 * pointer_bytes / 2;
// The size of a message whose type is not known: that of one with a few fields.
constexpr std::size_t guessed_object_bytes = 40;
// protobuf's own limit: it does not parse messages that are nested deeper.
constexpr std::size_t depth_max = 100;

enum class wire : std::uint8_t { varint, fixed64, bytes, group_begin, group_end, fixed32 };

const protobuf::Message& full_message_at(const void* address) {
  return *static_cast<const protobuf::Message*>(static_cast<const protobuf::MessageLite*>(address));
}

// The size of a text in addition to the string object, which contains short ones.
std::size_t text_bytes(std::size_t n) noexcept {
  static const std::size_t within = std::string().capacity();
  return n > within ? n + 1 : 0;
}

wire wire_of(const FieldDescriptor& f) {
  switch (f.type()) {
    case FieldDescriptor::TYPE_DOUBLE:
    case FieldDescriptor::TYPE_FIXED64:
    case FieldDescriptor::TYPE_SFIXED64: return wire::fixed64;
    case FieldDescriptor::TYPE_FLOAT:
    case FieldDescriptor::TYPE_FIXED32:
    case FieldDescriptor::TYPE_SFIXED32: return wire::fixed32;
    case FieldDescriptor::TYPE_STRING:
    case FieldDescriptor::TYPE_BYTES:
    case FieldDescriptor::TYPE_MESSAGE: return wire::bytes;
    case FieldDescriptor::TYPE_GROUP: return wire::group_begin;
    default: return wire::varint;
  }
}

std::size_t scalar_bytes(const FieldDescriptor& f) {
  switch (f.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_DOUBLE: return 8;
    case FieldDescriptor::CPPTYPE_BOOL: return 1;
    default: return 4;
  }
}

std::size_t object_bytes(const protobuf::Descriptor& type) {
  const protobuf::Message* const made = protobuf::MessageFactory::generated_factory()->GetPrototype(&type);
  return made ? made->SpaceUsedLong() : guessed_object_bytes;
}

// Counts the numbers in a packed list: each ends with a byte below 0x80.
std::size_t count_varints(const std::uint8_t* p, std::size_t n) noexcept {
  constexpr std::uint64_t ends = 0x8080'8080'8080'8080;
  std::size_t count = 0;
  for (; n >= 8; p += 8, n -= 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, p, 8);
    count += (((~eight & ends) >> 7) * 0x0101'0101'0101'0101) >> 56;
  }
  for (; n > 0; ++p, --n) count += *p < 0x80;
  return count;
}

}  // namespace

// What the fields of a type add to a message each time they occur.
struct message_footprint::layout {
  struct field {
    std::uint32_t number = 0;
    wire form = wire::varint;  // of one element that is not in a packed list
    bool text = false;
    std::uint8_t packed_field_bytes = 0;  // of an element in a packed list; 0: cannot be packed
    std::uint32_t element_bytes = 0;
    const protobuf::Descriptor* message = nullptr;
    layout* made = nullptr;  // of `message`, once it has been seen
    bool within = false;  // of a map's node, which includes its object
  };

  [[nodiscard]] field* find(std::uint64_t number) noexcept {
    if (number < dense.size()) return dense[number].number == 0 ? nullptr : &dense[number];
    const auto at = std::lower_bound(sparse.begin(), sparse.end(), number,
                                     [](const field& f, std::uint64_t n) { return f.number < n; });
    return at != sparse.end() && at->number == number ? &*at : nullptr;
  }
  void add(const FieldDescriptor& f, bool within_node);

  std::size_t bytes = 0;  // of the object; for a map's entry: of the node
  std::vector<field> dense;  // by number
  std::vector<field> sparse;
};

void message_footprint::layout::add(const FieldDescriptor& f, bool within_node) {
  field made;
  made.number = static_cast<std::uint32_t>(f.number());
  made.form = wire_of(f);
  const bool repeated = f.is_repeated();
  if (f.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    made.message = f.message_type();
    made.within = within_node;
    if (repeated && !f.is_map()) made.element_bytes = pointer_bytes;
  } else if (made.form == wire::bytes) {
    made.text = true;
    made.element_bytes = within_node ? 0 : string_bytes + (repeated ? pointer_bytes : 0);
  } else if (repeated) {
    made.packed_field_bytes = static_cast<std::uint8_t>(scalar_bytes(f));
    made.element_bytes = made.packed_field_bytes;
  }
  constexpr std::uint32_t dense_max = 256;
  if (made.number >= dense_max) {
    sparse.push_back(made);
    return;
  }
  if (dense.size() <= made.number) dense.resize(made.number + 1);
  dense[made.number] = made;
}

message_footprint::layout* message_footprint::layout_of(const protobuf::Descriptor& type) {
  if (const auto known = layouts_.find(&type); known != layouts_.end()) return known->second.get();
  auto made = std::make_unique<layout>();
  const bool node = type.options().map_entry();
  for (int i = 0; i < type.field_count(); ++i) made->add(*type.field(i), node);
  if (type.extension_range_count() > 0) {
    std::vector<const FieldDescriptor*> extensions;
    type.file()->pool()->FindAllExtensions(&type, &extensions);
    for (const FieldDescriptor* e : extensions) made->add(*e, false);
  }
  std::sort(made->sparse.begin(), made->sparse.end(),
            [](const layout::field& a, const layout::field& b) { return a.number < b.number; });
  if (node) {
    made->bytes = map_node_bytes;
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& f = *type.field(i);
      if (f.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) made->bytes += object_bytes(*f.message_type());
      else made->bytes += f.cpp_type() == FieldDescriptor::CPPTYPE_STRING ? string_bytes : scalar_bytes(f);
    }
  } else {
    made->bytes = object_bytes(type);
  }
  return (layouts_[&type] = std::move(made)).get();
}

// One pass over the bytes of a message. A malformed field ends it: protobuf stops parsing there, too.
class message_footprint::walk {
 public:
  walk(message_footprint& types, bytes_view body, std::size_t enough) noexcept
      : types_(types), next_(body.data()), enough_(enough) {
    levels_[0] = {next_, next_ + body.size(), nullptr, 0, false, false, false};
  }

  std::size_t of(layout& type) {
    levels_[0].type = &type;
    sum_ = type.bytes;
    return run();
  }
  std::size_t guess() {
    levels_[0].guessed = true;
    sum_ = guessed_object_bytes;
    return run();
  }

 private:
  // A message, or a group, which ends with its own tag. If it has no type and is not guessed, all of its
  // fields are unknown.
  struct level {
    const std::uint8_t* begin;
    const std::uint8_t* end;
    layout* type;
    std::size_t sum_before;  // without its content
    bool guessed;
    bool group;
    bool has_unknown;
  };

  std::size_t run() {
    while (sum_ < enough_ || may_be_taken_back()) {
      level& here = levels_[depth_];
      if (next_ == here.end && !here.group) {
        if (here.guessed) take_at_least_bytes(here);
        if (depth_ == 0) break;
        --depth_;
      } else if (!take_field(here) && !take_for_text()) {
        break;
      }
    }
    return std::min(sum_, enough_);
  }

  // The size of a guessed submessage is certain only at its end: until then it may turn out to be text. So
  // counting stops early only where the sum is certain, and returns the whole estimate, up to `enough_`.
  [[nodiscard]] bool may_be_taken_back() const noexcept { return depth_ > 0 && levels_[depth_].guessed; }

  // What looks like a message may be text or a list of numbers.
  void take_at_least_bytes(const level& guessed) noexcept {
    sum_ = std::max(sum_,
                    guessed.sum_before + text_bytes(static_cast<std::size_t>(guessed.end - guessed.begin)));
  }

  // A guess was wrong: what looked like a message is a string. Returns false if there was no guess.
  bool take_for_text() noexcept {
    while (depth_ > 0 && levels_[depth_].guessed && levels_[depth_].group) --depth_;
    const level& wrong = levels_[depth_];
    if (depth_ == 0 || !wrong.guessed) return false;
    sum_ = wrong.sum_before + text_bytes(static_cast<std::size_t>(wrong.end - wrong.begin));
    next_ = wrong.end;
    --depth_;
    return true;
  }

  // Returns false if the field is malformed.
  bool take_field(level& here) {
    std::uint64_t key = 0;
    if (!take_varint(here, key) || key >> 3 == 0) return false;
    const auto form = static_cast<wire>(key & 7);
    layout::field* const field = here.type ? here.type->find(key >> 3) : nullptr;
    const bool fits = field && field->form == form;
    switch (form) {
      case wire::varint: return take_varint(here, key) && add_scalar(here, field, fits);
      case wire::fixed64: return skip(here, 8) && add_scalar(here, field, fits);
      case wire::fixed32: return skip(here, 4) && add_scalar(here, field, fits);
      case wire::bytes: return take_bytes(here, field, fits);
      case wire::group_begin: return enter(here, field, fits, here.end, true);
      case wire::group_end: return here.group && leave();
      default: return false;
    }
  }

  bool take_bytes(level& here, layout::field* field, bool fits) {
    std::uint64_t size = 0;
    if (!take_varint(here, size)) return false;
    const std::uint8_t* const begin = next_;
    if ((fits && field->message) || (here.guessed && size > 0))
      return size <= left(here) && enter(here, field, fits, begin + size, false);
    if (!skip(here, size)) return false;
    if (fits) {
      sum_ += field->element_bytes + text_bytes(size);
    } else if (field && field->packed_field_bytes != 0) {
      const std::size_t n = field->form == wire::varint    ? count_varints(begin, size)
                            : field->form == wire::fixed64 ? size / 8
                                                           : size / 4;
      sum_ += n * field->packed_field_bytes;
    } else if (here.guessed) {
      sum_ += pointer_bytes + guessed_object_bytes;
    } else {
      add_unknown(here, string_bytes + text_bytes(size));
    }
    return true;
  }

  // Enters a submessage or a group.
  bool enter(level& here, layout::field* field, bool fits, const std::uint8_t* end, bool group) {
    if (depth_ == depth_max) return false;
    level& inner = levels_[depth_ + 1];
    inner = {next_, end, nullptr, 0, here.guessed, group, false};
    if (fits) {
      if (!field->made) field->made = types_.layout_of(*field->message);
      inner.type = field->made;
      sum_ += field->element_bytes + (field->within ? 0 : field->made->bytes);
    } else if (here.guessed) {
      sum_ += pointer_bytes + guessed_object_bytes;
    } else {
      add_unknown(here, sizeof(protobuf::UnknownFieldSet));
    }
    inner.sum_before = sum_;
    ++depth_;
    return true;
  }
  bool leave() noexcept {
    --depth_;
    return true;
  }

  bool add_scalar(level& here, const layout::field* field, bool fits) noexcept {
    if (fits) sum_ += field->element_bytes;
    else if (!here.guessed) add_unknown(here, 0);
    return true;
  }
  void add_unknown(level& here, std::size_t bytes) noexcept {
    sum_ += unknown_field_bytes + bytes + (here.has_unknown ? 0 : unknown_set_bytes);
    here.has_unknown = true;
  }

  [[nodiscard]] std::size_t left(const level& here) const noexcept {
    return static_cast<std::size_t>(here.end - next_);
  }
  bool skip(const level& here, std::uint64_t n) noexcept {
    if (n > left(here)) return false;
    next_ += n;
    return true;
  }
  bool take_varint(const level& here, std::uint64_t& n) noexcept {
    if (next_ != here.end && *next_ < 0x80) [[likely]] {
      n = *next_++;
      return true;
    }
    n = 0;
    for (int shift = 0; shift < 70 && next_ != here.end; shift += 7) {
      const std::uint8_t b = *next_++;
      n |= shift < 64 ? static_cast<std::uint64_t>(b & 0x7f) << shift : 0;
      if (b < 0x80) return true;
    }
    return false;
  }

  message_footprint& types_;
  const std::uint8_t* next_;
  const std::size_t enough_;
  std::size_t sum_ = 0;
  std::size_t depth_ = 0;
  std::array<level, depth_max + 1> levels_;  // filled as they are entered: most messages have one or two
};

message_footprint::message_footprint() noexcept = default;
message_footprint::~message_footprint() = default;

std::size_t message_footprint::estimate(const codec& k, const void* message, bytes_view body,
                                        std::size_t enough) noexcept {
  if (k.kind == message_kind::own) return body.size();
  walk w(*this, body, enough);
  if (k.kind == message_kind::protobuf_lite) return w.guess();
  const protobuf::Descriptor& type = *full_message_at(message).GetDescriptor();
  if (type.file()->pool() != protobuf::DescriptorPool::generated_pool()) return w.guess();
  try {
    return w.of(*layout_of(type));
  } catch (const std::bad_alloc&) {
    return enough;  // there is no memory for a layout, and none for the message either
  }
}

std::size_t message_footprint::measure(const codec& k, const void* message, std::size_t estimated) noexcept {
  if (k.kind == message_kind::own) return k.memory_bytes ? k.memory_bytes(message) : estimated;
  if (k.kind == message_kind::protobuf_lite) return estimated;
  const protobuf::Message& m = full_message_at(message);
  const protobuf::Arena* const arena = m.GetArena();
  return arena ? static_cast<std::size_t>(arena->SpaceAllocated()) : m.SpaceUsedLong();
}

}  // namespace coracle::rpc
