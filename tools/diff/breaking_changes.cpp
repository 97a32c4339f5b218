#include "tools/diff/breaking_changes.hpp"

#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;
using field_type = pb::FieldDescriptor;

struct element_names {
  std::map<std::string, const pb::Descriptor*> messages;
  std::map<std::string, const pb::EnumDescriptor*> enums;
  std::map<std::string, const pb::ServiceDescriptor*> services;

  explicit element_names(const definition_set& files) {
    for (const pb::FileDescriptor* const file : files) {
      if (std::string(file->name()).starts_with("google/protobuf/")) continue;
      for (int i = 0; i < file->message_type_count(); ++i) add(*file->message_type(i));
      for (int i = 0; i < file->enum_type_count(); ++i) add(*file->enum_type(i));
      for (int i = 0; i < file->service_count(); ++i)
        services[std::string(file->service(i)->full_name())] = file->service(i);
    }
  }

 private:
  void add(const pb::Descriptor& type) {
    if (type.options().map_entry()) return;
    messages[std::string(type.full_name())] = &type;
    for (int i = 0; i < type.nested_type_count(); ++i) add(*type.nested_type(i));
    for (int i = 0; i < type.enum_type_count(); ++i) add(*type.enum_type(i));
  }
  void add(const pb::EnumDescriptor& type) { enums[std::string(type.full_name())] = &type; }
};

template <class Descriptor>
std::string location_of(const Descriptor& d, const pb::FileDescriptor& file) {
  pb::SourceLocation at;
  std::string text(file.name());
  if (d.GetSourceLocation(&at)) text += ":" + std::to_string(at.start_line + 1);
  return text;
}

// Types that are read from each other's bytes without an error. protobuf documents these groups.
int wire_group(const field_type& f) {
  switch (f.type()) {
    case field_type::TYPE_INT32:
    case field_type::TYPE_UINT32:
    case field_type::TYPE_INT64:
    case field_type::TYPE_UINT64:
    case field_type::TYPE_BOOL:
    case field_type::TYPE_ENUM: return 1;
    case field_type::TYPE_SINT32:
    case field_type::TYPE_SINT64: return 2;
    case field_type::TYPE_FIXED32:
    case field_type::TYPE_SFIXED32: return 3;
    case field_type::TYPE_FIXED64:
    case field_type::TYPE_SFIXED64: return 4;
    case field_type::TYPE_STRING:
    case field_type::TYPE_BYTES: return 5;
    default: return 100 + f.type();
  }
}

// Types whose values are written in the same way in JSON.
int json_group(const field_type& f) {
  switch (f.cpp_type()) {
    case field_type::CPPTYPE_INT32:
    case field_type::CPPTYPE_UINT32: return 1;
    case field_type::CPPTYPE_INT64:
    case field_type::CPPTYPE_UINT64: return 2;
    case field_type::CPPTYPE_FLOAT:
    case field_type::CPPTYPE_DOUBLE: return 3;
    case field_type::CPPTYPE_STRING: return f.type() == field_type::TYPE_BYTES ? 4 : 5;
    default: return 100 + f.cpp_type();
  }
}

std::string type_text(const field_type& f) {
  if (f.message_type()) return std::string(f.message_type()->full_name());
  if (f.enum_type()) return std::string(f.enum_type()->full_name());
  return std::string(f.type_name());
}

std::string label_text(const field_type& f) {
  if (f.is_map()) return "a map";
  if (f.is_repeated()) return "repeated";
  return f.is_required() ? "required" : "singular";
}

std::string oneof_text(const field_type& f) {
  const pb::OneofDescriptor* const one = f.real_containing_oneof();
  return one ? "in the oneof " + std::string(one->name()) : "in no oneof";
}

// The default of a proto2 field as text.
std::string default_text(const field_type& f) {
  if (f.is_repeated() || f.message_type()) return {};
  pb::FieldDescriptorProto proto;
  f.CopyTo(&proto);
  return proto.default_value();
}

// Numbers from the first to the last, both included.
using number_ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

number_ranges reserved_numbers(const pb::Descriptor& type) {
  number_ranges all;
  for (int i = 0; i < type.reserved_range_count(); ++i)
    all.emplace_back(type.reserved_range(i)->start, std::int64_t{type.reserved_range(i)->end} - 1);
  std::sort(all.begin(), all.end());
  return all;
}
number_ranges reserved_numbers(const pb::EnumDescriptor& type) {
  number_ranges all;
  for (int i = 0; i < type.reserved_range_count(); ++i)
    all.emplace_back(type.reserved_range(i)->start, type.reserved_range(i)->end);
  std::sort(all.begin(), all.end());
  return all;
}

// The first number from `first` to `last` that is neither in the sorted ranges nor used, if there is one. A
// range may have half a billion numbers: whole ranges are skipped.
template <class Used>
std::optional<std::int64_t> first_outside(const number_ranges& ranges, std::int64_t first, std::int64_t last,
                                          Used used) {
  for (const auto& [begin, end] : ranges) {
    while (first <= last && first < begin && used(first)) ++first;
    if (first > last || first < begin) break;
    first = std::max(first, end + 1);
  }
  while (first <= last && used(first)) ++first;
  return first <= last ? std::optional(first) : std::nullopt;
}

class comparison {
 public:
  comparison(const definition_set& older, const definition_set& newer,
             std::pair<std::string, std::string> same_file)
      : old_(older), new_(newer), same_file_(std::move(same_file)) {}

  std::vector<breaking_change> run() {
    for (const auto& [name, type] : old_.messages) {
      const auto found = new_.messages.find(name);
      if (found == new_.messages.end())
        add(breakage::source, "message-removed", *type, *type->file(), "message " + name + " was removed");
      else compare(*type, *found->second);
    }
    for (const auto& [name, type] : old_.enums) {
      const auto found = new_.enums.find(name);
      if (found == new_.enums.end())
        add(breakage::source, "enum-removed", *type, *type->file(), "enum " + name + " was removed");
      else compare(*type, *found->second);
    }
    for (const auto& [name, service] : old_.services) {
      const auto found = new_.services.find(name);
      if (found == new_.services.end())
        add(breakage::wire, "service-removed", *service, *service->file(),
            "service " + name + " was removed: calls of older clients fail with UNIMPLEMENTED");
      else compare(*service, *found->second);
    }
    std::stable_sort(found_.begin(), found_.end(), [](const breaking_change& a, const breaking_change& b) {
      return std::tie(a.breaks, a.location) < std::tie(b.breaks, b.location);
    });
    return std::move(found_);
  }

 private:
  template <class Descriptor>
  void add(breakage b, const char* rule, const Descriptor& at, const pb::FileDescriptor& file,
           std::string text) {
    found_.push_back({b, rule, std::string(at.full_name()), location_of(at, file), std::move(text)});
  }

  template <class Descriptor>
  void compare_files(const Descriptor& a, const Descriptor& b) {
    const bool is_renamed_file =
        a.file()->name() == same_file_.first && b.file()->name() == same_file_.second;
    if (a.file()->name() != b.file()->name() && !is_renamed_file)
      add(breakage::source, "file-changed", b, *b.file(),
          std::string(b.full_name()) + " moved from " + std::string(a.file()->name()) + " to " +
              std::string(b.file()->name()));
  }

  void compare(const pb::Descriptor& a, const pb::Descriptor& b) {
    compare_files(a, b);
    for (int i = 0; i < a.field_count(); ++i) {
      const field_type& f = *a.field(i);
      const field_type* const same = b.FindFieldByNumber(f.number());
      if (same) compare(f, *same);
      else removed(f, b);
    }
    for (int i = 0; i < b.field_count(); ++i)
      if (const int number = b.field(i)->number(); a.IsReservedNumber(number))
        add(breakage::wire, "reserved-used", *b.field(i), *b.file(),
            field_text(*b.field(i)) + " uses a number that was reserved");
    const number_ranges reserved = reserved_numbers(b);
    for (const auto& [first, last] : reserved_numbers(a))
      if (const auto lost = first_outside(reserved, first, last, [&](std::int64_t n) {
            return b.FindFieldByNumber(static_cast<int>(n)) != nullptr;  // reported above
          }))
        add(breakage::wire, "reserved-removed", b, *b.file(),
            "message " + std::string(b.full_name()) + " no longer reserves the number " +
                std::to_string(*lost));
    for (int i = 0; i < a.reserved_name_count(); ++i)
      if (const std::string name(a.reserved_name(i)); !b.IsReservedName(name))
        add(breakage::json, "reserved-removed", b, *b.file(),
            "message " + std::string(b.full_name()) + " no longer reserves the name " + name);
    for (int i = 0; i < b.field_count(); ++i)
      if (b.field(i)->is_required() && !a.FindFieldByNumber(b.field(i)->number()))
        add(breakage::wire, "required-added", *b.field(i), *b.file(),
            field_text(*b.field(i)) + " is new and required: messages of older programs are rejected");
  }

  static std::string field_text(const field_type& f) {
    return "field " + std::string(f.full_name()) + " (" + std::to_string(f.number()) + ")";
  }

  void removed(const field_type& f, const pb::Descriptor& from) {
    const std::string text = field_text(f) + " was removed";
    const std::string name(f.name());
    if (const field_type* const moved = from.FindFieldByName(name))
      return add(breakage::wire, "field-renumbered", *moved, *from.file(),
                 "field " + std::string(f.full_name()) + " has the number " +
                     std::to_string(moved->number()) + " instead of " + std::to_string(f.number()));
    if (!from.IsReservedNumber(f.number()))
      return add(breakage::wire, "field-removed", f, *f.file(),
                 text + ", and its number is not reserved: write 'reserved " + std::to_string(f.number()) +
                     ", \"" + name + "\";'");
    if (!from.IsReservedName(name))
      return add(breakage::json, "field-removed", f, *f.file(),
                 text + ", and its name is not reserved: write 'reserved \"" + name + "\";'");
    add(breakage::source, "field-removed", f, *f.file(), text);
  }

  void compare(const field_type& a, const field_type& b) {
    const auto changed = [&](breakage kind, const char* rule, const std::string& property,
                             const std::string& from, const std::string& to) {
      add(kind, rule, b, *b.file(), field_text(b) + ": " + property + " changed from " + from + " to " + to);
    };
    if (a.name() != b.name())
      changed(a.json_name() != b.json_name() ? breakage::json : breakage::source, "field-renamed", "the name",
              std::string(a.name()), std::string(b.name()));
    else if (a.json_name() != b.json_name())
      changed(breakage::json, "json-name-changed", "the JSON name", std::string(a.json_name()),
              std::string(b.json_name()));
    if (label_text(a) != label_text(b))
      changed(breakage::wire, "cardinality-changed", "the label", label_text(a), label_text(b));
    else if (a.has_presence() != b.has_presence() && !a.real_containing_oneof() && !b.real_containing_oneof())
      changed(breakage::source, "presence-changed", "the presence",
              a.has_presence() ? "explicit" : "implicit", b.has_presence() ? "explicit" : "implicit");
    if (oneof_text(a) != oneof_text(b))
      changed(breakage::wire, "oneof-changed", "the place", oneof_text(a), oneof_text(b));
    if (a.is_map() && b.is_map()) return compare_maps(a, b);
    compare_types(a, b, b);
    if (default_text(a) != default_text(b))
      changed(breakage::wire, "default-changed", "the default", "'" + default_text(a) + "'",
              "'" + default_text(b) + "'");
  }

  void compare_maps(const field_type& a, const field_type& b) {
    for (const int part : {1, 2})
      compare_types(*a.message_type()->FindFieldByNumber(part), *b.message_type()->FindFieldByNumber(part),
                    b);
  }

  // `at` is the field to name: the keys and values of a map are fields without a name of their own.
  void compare_types(const field_type& a, const field_type& b, const field_type& at) {
    if (type_text(a) == type_text(b) && a.type() == b.type()) return;
    const bool fixed_names = a.message_type() != nullptr || b.message_type() != nullptr;
    breakage kind = breakage::source;
    if (fixed_names || wire_group(a) != wire_group(b)) kind = breakage::wire;
    else if (json_group(a) != json_group(b) || (a.enum_type() && b.enum_type())) kind = breakage::json;
    add(kind, "type-changed", at, *at.file(),
        field_text(at) + ": the type changed from " + type_text(a) + " to " + type_text(b));
  }

  void compare(const pb::EnumDescriptor& a, const pb::EnumDescriptor& b) {
    compare_files(a, b);
    for (int i = 0; i < a.value_count(); ++i) {
      const pb::EnumValueDescriptor& value = *a.value(i);
      const std::string name(value.name());
      const std::string text =
          "value " + name + " (" + std::to_string(value.number()) + ") of " + std::string(a.full_name());
      const pb::EnumValueDescriptor* const named = b.FindValueByName(name);
      if (named && named->number() == value.number()) continue;
      const pb::EnumValueDescriptor* const numbered = b.FindValueByNumber(value.number());
      if (named)
        add(breakage::wire, "enum-value-renumbered", *named, *b.file(),
            text + " has the number " + std::to_string(named->number()) + " now");
      else if (numbered)
        add(breakage::json, "enum-value-renamed", *numbered, *b.file(),
            text + " is called " + std::string(numbered->name()) + " now");
      else if (!b.IsReservedNumber(value.number()))
        add(breakage::wire, "enum-value-removed", value, *a.file(),
            text + " was removed, and its number is not reserved");
      else if (!b.IsReservedName(name))
        add(breakage::json, "enum-value-removed", value, *a.file(),
            text + " was removed, and its name is not reserved");
      else add(breakage::source, "enum-value-removed", value, *a.file(), text + " was removed");
    }
    for (int i = 0; i < b.value_count(); ++i)
      if (a.IsReservedNumber(b.value(i)->number()))
        add(breakage::wire, "reserved-used", *b.value(i), *b.file(),
            "value " + std::string(b.value(i)->full_name()) + " uses a number that was reserved");
    const number_ranges reserved = reserved_numbers(b);
    for (const auto& [first, last] : reserved_numbers(a))
      if (const auto lost = first_outside(reserved, first, last, [&](std::int64_t n) {
            return b.FindValueByNumber(static_cast<int>(n)) != nullptr;  // reported above
          }))
        add(breakage::wire, "reserved-removed", b, *b.file(),
            "enum " + std::string(b.full_name()) + " no longer reserves the number " + std::to_string(*lost));
    if (is_closed(a) != is_closed(b))
      add(breakage::wire, "enum-openness-changed", b, *b.file(),
          "enum " + std::string(b.full_name()) +
              " treats unknown values differently now (its syntax changed)");
  }

  // Until protobuf 22, the syntax of the file decides.
  static bool is_closed(const pb::EnumDescriptor& e) {
    pb::FileDescriptorProto file;
    e.file()->CopyTo(&file);
    return file.syntax().empty() || file.syntax() == "proto2";
  }

  void compare(const pb::ServiceDescriptor& a, const pb::ServiceDescriptor& b) {
    compare_files(a, b);
    for (int i = 0; i < a.method_count(); ++i) {
      const pb::MethodDescriptor& m = *a.method(i);
      const pb::MethodDescriptor* const same = b.FindMethodByName(std::string(m.name()));
      if (same) compare(m, *same);
      else
        add(breakage::wire, "method-removed", m, *a.file(),
            "method " + std::string(m.full_name()) +
                " was removed: calls of older clients fail with UNIMPLEMENTED");
    }
  }

  void compare(const pb::MethodDescriptor& a, const pb::MethodDescriptor& b) {
    const auto changed = [&](const char* rule, const std::string& property, const std::string& from,
                             const std::string& to) {
      if (from != to)
        add(breakage::wire, rule, b, *b.file(),
            "method " + std::string(b.full_name()) + ": " + property + " changed from " + from + " to " + to);
    };
    const auto text = [](bool streaming) { return streaming ? "a stream" : "one message"; };
    changed("request-changed", "the type of the request", std::string(a.input_type()->full_name()),
            std::string(b.input_type()->full_name()));
    changed("reply-changed", "the type of the reply", std::string(a.output_type()->full_name()),
            std::string(b.output_type()->full_name()));
    changed("streaming-changed", "the request", text(a.client_streaming()), text(b.client_streaming()));
    changed("streaming-changed", "the reply", text(a.server_streaming()), text(b.server_streaming()));
  }

  element_names old_, new_;
  std::pair<std::string, std::string> same_file_;
  std::vector<breaking_change> found_;
};

}  // namespace

const char* name_of(breakage b) noexcept {
  constexpr const char* names[] = {"wire", "json", "source"};
  return names[static_cast<int>(b)];
}

std::vector<breaking_change> breaking_changes(const definition_set& older, const definition_set& newer,
                                              std::pair<std::string, std::string> same_file) {
  return comparison(older, newer, std::move(same_file)).run();
}

}  // namespace coracle::tools
