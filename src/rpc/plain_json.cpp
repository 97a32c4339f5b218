#include "rpc/plain_json.hpp"

#include "base/utf8.hpp"
#include "coracle/base/impl/base64.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace coracle::rpc {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Deeper values take the way of protobuf's mapping, whose limit applies.
constexpr int plain_depth_max = 32;
// A word has a bit for each field that was set.
constexpr int plain_fields_max = 64;

bool has_plain_form(const Descriptor& type) noexcept {
  return type.well_known_type() == Descriptor::WELLKNOWNTYPE_UNSPECIFIED;
}

bool has_plain_values(const FieldDescriptor& field) {
  if (field.is_map() || field.is_extension() || field.type() == FieldDescriptor::TYPE_GROUP) return false;
  return !field.enum_type() || field.enum_type()->full_name() != "google.protobuf.NullValue";
}

// Whether each JSON writer writes the text as it is. They differ in what else they escape.
bool is_plain_text(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' && c != '\'';
  });
}

class plain_writer {
 public:
  explicit plain_writer(std::string& to) noexcept : to_(to) {}

  bool object(const Message& message, int depth) {
    if (depth > plain_depth_max || !has_plain_form(*message.GetDescriptor())) return false;
    const Reflection& reflection = *message.GetReflection();
    if (!reflection.GetUnknownFields(message).empty()) return false;
    std::vector<const FieldDescriptor*> present;
    reflection.ListFields(message, &present);
    to_.push_back('{');
    bool first = true;
    for (const FieldDescriptor* field : present) {
      if (!has_plain_values(*field) || !is_plain_text(field->json_name())) return false;
      if (!std::exchange(first, false)) to_.push_back(',');
      to_.append(1, '"').append(field->json_name()).append("\":");
      if (!(field->is_repeated() ? array(reflection, message, *field, depth)
                                 : value(reflection, message, *field, depth)))
        return false;
    }
    to_.push_back('}');
    return true;
  }

 private:
  bool value(const Reflection& r, const Message& m, const FieldDescriptor& field, int depth) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32: return number(r.GetInt32(m, &field));
      case FieldDescriptor::CPPTYPE_UINT32: return number(r.GetUInt32(m, &field));
      case FieldDescriptor::CPPTYPE_INT64: return quoted(r.GetInt64(m, &field));
      case FieldDescriptor::CPPTYPE_UINT64: return quoted(r.GetUInt64(m, &field));
      case FieldDescriptor::CPPTYPE_BOOL: return boolean(r.GetBool(m, &field));
      case FieldDescriptor::CPPTYPE_ENUM: return enumerator(field, r.GetEnumValue(m, &field));
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string scratch;
        return text(field, r.GetStringReference(m, &field, &scratch));
      }
      case FieldDescriptor::CPPTYPE_MESSAGE: return object(r.GetMessage(m, &field), depth + 1);
      default: return false;
    }
  }
  bool element(const Reflection& r, const Message& m, const FieldDescriptor& field, int at, int depth) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32: return number(r.GetRepeatedInt32(m, &field, at));
      case FieldDescriptor::CPPTYPE_UINT32: return number(r.GetRepeatedUInt32(m, &field, at));
      case FieldDescriptor::CPPTYPE_INT64: return quoted(r.GetRepeatedInt64(m, &field, at));
      case FieldDescriptor::CPPTYPE_UINT64: return quoted(r.GetRepeatedUInt64(m, &field, at));
      case FieldDescriptor::CPPTYPE_BOOL: return boolean(r.GetRepeatedBool(m, &field, at));
      case FieldDescriptor::CPPTYPE_ENUM: return enumerator(field, r.GetRepeatedEnumValue(m, &field, at));
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string scratch;
        return text(field, r.GetRepeatedStringReference(m, &field, at, &scratch));
      }
      case FieldDescriptor::CPPTYPE_MESSAGE: return object(r.GetRepeatedMessage(m, &field, at), depth + 1);
      default: return false;
    }
  }
  bool array(const Reflection& r, const Message& m, const FieldDescriptor& field, int depth) {
    to_.push_back('[');
    for (int i = 0; i < r.FieldSize(m, &field); ++i) {
      if (i != 0) to_.push_back(',');
      if (!element(r, m, field, i, depth)) return false;
    }
    to_.push_back(']');
    return true;
  }

  template <class Integer>
  bool number(Integer n) {
    char digits[24];
    to_.append(digits, std::to_chars(digits, std::end(digits), n).ptr);
    return true;
  }
  template <class Integer>
  bool quoted(Integer n) {
    to_.push_back('"');
    number(n);
    to_.push_back('"');
    return true;
  }
  bool boolean(bool b) {
    to_.append(b ? "true" : "false");
    return true;
  }
  bool enumerator(const FieldDescriptor& field, int n) {
    const EnumValueDescriptor* const known = field.enum_type()->FindValueByNumber(n);
    if (!known) return number(n);
    to_.append(1, '"').append(known->name()).push_back('"');
    return true;
  }
  bool text(const FieldDescriptor& field, const std::string& content) {
    const bool bytes = field.type() == FieldDescriptor::TYPE_BYTES;
    if (!bytes && !is_plain_text(content)) return false;
    to_.push_back('"');
    to_.append(bytes ? base::padded_base64(content) : content);
    to_.push_back('"');
    return true;
  }

  std::string& to_;
};

class plain_reader {
 public:
  explicit plain_reader(std::string_view text) noexcept : text_(text) {}

  bool run(Message& message) {
    skip_space();
    if (!object(message, 1)) return false;
    skip_space();
    return at_ == text_.size() && (!beyond_ascii_ || base::valid_utf8_bytes(text_) == text_.size());
  }

 private:
  [[nodiscard]] char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() noexcept {
    while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') ++at_;
  }
  // Reads `c` with the space around it.
  bool take(char c) noexcept {
    skip_space();
    if (peek() != c) return false;
    ++at_;
    skip_space();
    return true;
  }
  bool take_word(std::string_view word) noexcept {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  // Reads a string without escapes.
  bool string(std::string_view& into) noexcept {
    if (peek() != '"') return false;
    const std::size_t start = ++at_;
    for (;; ++at_) {
      if (at_ == text_.size()) return false;
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') break;
      if (c < 0x20 || c == '\\') return false;
      if (c >= 0x7f) beyond_ascii_ = true;
    }
    into = text_.substr(start, at_++ - start);
    return true;
  }

  // Reads an integer in its shortest form, quoted or not.
  template <class Integer>
  bool integer(Integer& into) noexcept {
    const bool quoted = peek() == '"';
    if (quoted) ++at_;
    const char* const first = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    const auto [last, error] = std::from_chars(first, end, into);
    if (error != std::errc()) return false;
    const bool negative = *first == '-';
    const std::string_view digits(first + negative, last);
    if (digits.front() == '0' && (digits.size() != 1 || negative)) return false;
    at_ += static_cast<std::size_t>(last - first);
    if (quoted) return peek() == '"' && (++at_, true);
    return peek() != '.' && peek() != 'e' && peek() != 'E';
  }

  // The index of the field that has this name in JSON or in the .proto; negative if none or several have.
  static int field_of(const Descriptor& type, std::string_view name) {
    int found = -1;
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& f = *type.field(i);
      if (std::string_view(f.json_name()) != name && std::string_view(f.name()) != name) continue;
      if (found >= 0) return -1;
      found = i;
    }
    return found;
  }

  bool object(Message& message, int depth) {
    const Descriptor& type = *message.GetDescriptor();
    if (depth > plain_depth_max || !has_plain_form(type) || type.field_count() > plain_fields_max)
      return false;
    if (!take('{')) return false;
    if (take('}')) return true;
    const Reflection& reflection = *message.GetReflection();
    std::uint64_t set = 0;
    do {
      std::string_view name;
      if (!string(name) || !take(':')) return false;
      const int index = field_of(type, name);
      if (index < 0 || (set >> index & 1) != 0) return false;
      set |= std::uint64_t{1} << index;
      const FieldDescriptor& field = *type.field(index);
      if (!has_plain_values(field)) return false;
      if (const auto* oneof = field.containing_oneof(); oneof && reflection.HasOneof(message, oneof))
        return false;
      if (!(field.is_repeated() ? array(reflection, message, field, depth)
                                : value(reflection, message, field, depth)))
        return false;
    } while (take(','));
    skip_space();
    if (peek() != '}') return false;
    ++at_;
    return true;
  }

  bool array(const Reflection& r, Message& m, const FieldDescriptor& field, int depth) {
    if (!take('[')) return false;
    if (peek() == ']') return ++at_, true;
    do {
      if (!element(r, m, field, depth)) return false;
    } while (take(','));
    skip_space();
    if (peek() != ']') return false;
    ++at_;
    return true;
  }

  bool value(const Reflection& r, Message& m, const FieldDescriptor& field, int depth) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return set<std::int32_t>([&](auto n) { r.SetInt32(&m, &field, n); });
      case FieldDescriptor::CPPTYPE_UINT32:
        return set<std::uint32_t>([&](auto n) { r.SetUInt32(&m, &field, n); });
      case FieldDescriptor::CPPTYPE_INT64:
        return set<std::int64_t>([&](auto n) { r.SetInt64(&m, &field, n); });
      case FieldDescriptor::CPPTYPE_UINT64:
        return set<std::uint64_t>([&](auto n) { r.SetUInt64(&m, &field, n); });
      case FieldDescriptor::CPPTYPE_BOOL: return boolean([&](bool b) { r.SetBool(&m, &field, b); });
      case FieldDescriptor::CPPTYPE_ENUM:
        return enumerator(field, [&](auto* v) { r.SetEnum(&m, &field, v); });
      case FieldDescriptor::CPPTYPE_STRING:
        return text(field, [&](std::string s) { r.SetString(&m, &field, std::move(s)); });
      case FieldDescriptor::CPPTYPE_MESSAGE: return object(*r.MutableMessage(&m, &field), depth + 1);
      default: return false;
    }
  }
  bool element(const Reflection& r, Message& m, const FieldDescriptor& field, int depth) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return set<std::int32_t>([&](auto n) { r.AddInt32(&m, &field, n); });
      case FieldDescriptor::CPPTYPE_UINT32:
        return set<std::uint32_t>([&](auto n) { r.AddUInt32(&m, &field, n); });
      case FieldDescriptor::CPPTYPE_INT64:
        return set<std::int64_t>([&](auto n) { r.AddInt64(&m, &field, n); });
      case FieldDescriptor::CPPTYPE_UINT64:
        return set<std::uint64_t>([&](auto n) { r.AddUInt64(&m, &field, n); });
      case FieldDescriptor::CPPTYPE_BOOL: return boolean([&](bool b) { r.AddBool(&m, &field, b); });
      case FieldDescriptor::CPPTYPE_ENUM:
        return enumerator(field, [&](auto* v) { r.AddEnum(&m, &field, v); });
      case FieldDescriptor::CPPTYPE_STRING:
        return text(field, [&](std::string s) { r.AddString(&m, &field, std::move(s)); });
      case FieldDescriptor::CPPTYPE_MESSAGE: return object(*r.AddMessage(&m, &field), depth + 1);
      default: return false;
    }
  }

  template <class Integer, class Set>
  bool set(Set put) {
    Integer n{};
    if (!integer(n)) return false;
    put(n);
    return true;
  }
  template <class Set>
  bool boolean(Set put) {
    const bool yes = peek() == 't';
    if (!take_word(yes ? "true" : "false")) return false;
    put(yes);
    return true;
  }
  template <class Set>
  bool enumerator(const FieldDescriptor& field, Set put) {
    std::string_view name;
    if (!string(name)) return false;
    const EnumValueDescriptor* const known = field.enum_type()->FindValueByName(std::string(name));
    if (!known) return false;
    put(known);
    return true;
  }
  template <class Set>
  bool text(const FieldDescriptor& field, Set put) {
    std::string_view content;
    if (field.type() == FieldDescriptor::TYPE_BYTES || !string(content)) return false;
    put(std::string(content));
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool beyond_ascii_ = false;
};

}  // namespace

bool write_plain_json(const Message& message, std::string& to) {
  const std::size_t before = to.size();
  if (plain_writer(to).object(message, 1) && message.IsInitialized()) return true;
  to.resize(before);
  return false;
}

bool read_plain_json(Message& message, std::string_view from) {
  message.Clear();
  return plain_reader(from).run(message) && message.IsInitialized();
}

}  // namespace coracle::rpc
