#include "rpc/plain_json.hpp"

#include "base/utf8.hpp"
#include "coracle/base/impl/base64.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <system_error>
#include <unordered_map>
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
// The fields of larger types are found in an index, which is made for each text.
constexpr int compared_fields_max = 64;

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

// The days from 1970-01-01 to a date of the Gregorian calendar: years begin in March here, so that the day
// that some of them lack is their last one.
std::int64_t days_from_civil(std::int64_t year, unsigned month, unsigned day) noexcept {
  year -= month <= 2;
  const std::int64_t era = year / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return era * 146'097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719'468;
}

unsigned days_of_month(std::int64_t year, unsigned month) noexcept {
  constexpr unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return days[month - 1] + (leap && month == 2 ? 1u : 0u);
}

class plain_reader {
 public:
  plain_reader(std::string_view text, json_cost* cost) noexcept : text_(text), cost_(cost) {}

  bool run(Message& message) {
    skip_space();
    if (!object(message, 1)) return false;
    skip_space();
    return at_ == text_.size() && (!beyond_ascii_ || base::valid_utf8_bytes(text_) == text_.size());
  }

 private:
  // Of a type with more fields than are compared one by one.
  using name_index = std::unordered_map<std::string_view, int>;
  static constexpr int ambiguous = -1;

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
  bool charge() noexcept { return !cost_ || cost_->charge(json_cost::plain_value_bytes); }

  // Reads a string without escapes.
  bool string(std::string_view& into) noexcept {
    bool escaped = false;
    return raw_string(into, escaped) && !escaped;
  }
  // Reads a string up to its end, or up to the first escape.
  bool raw_string(std::string_view& into, bool& escaped) noexcept {
    if (peek() != '"') return false;
    const std::size_t start = ++at_;
    for (;; ++at_) {
      if (at_ == text_.size()) return false;
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"' || c == '\\') break;
      if (c < 0x20) return false;
      if (c >= 0x7f) beyond_ascii_ = true;
    }
    into = text_.substr(start, at_ - start);
    escaped = text_[at_] == '\\';
    if (!escaped) ++at_;
    return true;
  }
  // The rest of a string from its first escape on.
  bool escaped_rest(std::string& to) {
    while (true) {
      if (at_ == text_.size()) return false;
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') return ++at_, true;
      if (c < 0x20) return false;
      if (c >= 0x7f) beyond_ascii_ = true;
      if (c != '\\') {
        to.push_back(text_[at_++]);
        continue;
      }
      ++at_;
      switch (peek()) {
        case '"':
        case '\\':
        case '/': to.push_back(text_[at_++]); break;
        case 'b': to.push_back('\b'), ++at_; break;
        case 'f': to.push_back('\f'), ++at_; break;
        case 'n': to.push_back('\n'), ++at_; break;
        case 'r': to.push_back('\r'), ++at_; break;
        case 't': to.push_back('\t'), ++at_; break;
        case 'u':
          if (!unicode_escape(to)) return false;
          break;
        default: return false;
      }
    }
  }
  // Reads "uXXXX", and the second half of a pair of surrogates.
  bool unicode_escape(std::string& to) {
    std::uint32_t code = 0;
    if (!four_digits(code)) return false;
    if (code >= 0xd800 && code <= 0xdfff) {
      std::uint32_t low = 0;
      if (code >= 0xdc00 || peek() != '\\') return false;
      ++at_;
      if (peek() != 'u' || !four_digits(low) || low < 0xdc00 || low > 0xdfff) return false;
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    base::append_utf8(to, code);
    return true;
  }
  bool four_digits(std::uint32_t& into) noexcept {
    const std::string_view digits = text_.substr(std::min(at_ + 1, text_.size()), 4);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), into, 16);
    at_ += 5;
    return error == std::errc() && digits.size() == 4 && end == digits.data() + 4;
  }

  // Reads an integer in its shortest form, quoted or not.
  template <class Integer>
  bool integer(Integer& into) noexcept {
    const bool quoted = peek() == '"';
    if (quoted) ++at_;
    if (!digits_of(into)) return false;
    if (quoted) return peek() == '"' && (++at_, true);
    return peek() != '.' && peek() != 'e' && peek() != 'E';
  }
  template <class Integer>
  bool digits_of(Integer& into) noexcept {
    const char* const first = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    const auto [last, error] = std::from_chars(first, end, into);
    if (error != std::errc()) return false;
    const bool negative = *first == '-';
    const std::string_view digits(first + negative, last);
    if (digits.front() == '0' && (digits.size() != 1 || negative)) return false;
    at_ += static_cast<std::size_t>(last - first);
    return true;
  }

  // Reads a number that is not in quotes. protobuf reads one without fraction and exponent as an integer.
  bool real(double& into) noexcept {
    const std::size_t start = at_;
    const auto digits = [this] {
      const std::size_t first = at_;
      while (peek() >= '0' && peek() <= '9') ++at_;
      return at_ != first;
    };
    if (peek() == '-') ++at_;
    if (peek() == '0') ++at_;
    else if (!digits()) return false;
    bool whole = true;
    if (peek() == '.') {
      whole = false;
      if (++at_; !digits()) return false;
    }
    if (peek() == 'e' || peek() == 'E') {
      whole = false;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return false;
    }
    // Integers of more digits are not exact as a double; and "-0" is 0.
    constexpr std::size_t exact_digits = 15;
    if (whole && (at_ - start > exact_digits || text_.substr(start, at_ - start) == "-0")) return false;
    const char* const end = text_.data() + at_;
    const auto [last, error] = std::from_chars(text_.data() + start, end, into);
    return error == std::errc() && last == end;
  }
  bool real(float& into) noexcept {
    double n = 0;
    if (!real(n) || !(std::abs(n) <= std::numeric_limits<float>::max())) return false;
    into = static_cast<float>(n);
    return true;
  }

  // The index of the field that has this name in JSON or in the .proto; negative if none or several have.
  int field_of(const Descriptor& type, std::string_view name) {
    if (type.field_count() > compared_fields_max) {
      const name_index& names = names_of(type);
      const auto found = names.find(name);
      return found == names.end() ? ambiguous : found->second;
    }
    int found = ambiguous;
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& f = *type.field(i);
      if (std::string_view(f.json_name()) != name && std::string_view(f.name()) != name) continue;
      if (found >= 0) return ambiguous;
      found = i;
    }
    return found;
  }
  const name_index& names_of(const Descriptor& type) {
    const auto [made, is_new] = indexes_.try_emplace(&type);
    if (!is_new) return made->second;
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& f = *type.field(i);
      for (const std::string_view name : {std::string_view(f.json_name()), std::string_view(f.name())}) {
        const auto [at, first] = made->second.try_emplace(name, i);
        if (!first && at->second != i) at->second = ambiguous;
      }
    }
    return made->second;
  }

  // The fields of an object that were set.
  class field_set {
   public:
    explicit field_set(int fields) {
      if (fields > word_bits) more_.resize(static_cast<std::size_t>(fields));
    }
    // Returns false if the field was in the set.
    bool insert(int index) noexcept {
      if (!more_.empty()) {
        const auto at = more_.begin() + index;
        return !*at && (*at = true);
      }
      const std::uint64_t bit = std::uint64_t{1} << index;
      return (word_ & bit) == 0 && (word_ |= bit) != 0;
    }

   private:
    static constexpr int word_bits = 64;
    std::uint64_t word_ = 0;
    std::vector<bool> more_;  // in place of the word
  };

  bool object(Message& message, int depth) {
    const Descriptor& type = *message.GetDescriptor();
    if (depth > plain_depth_max || !has_plain_form(type)) return false;
    if (!take('{')) return false;
    if (take('}')) return true;
    const Reflection& reflection = *message.GetReflection();
    field_set set(type.field_count());
    do {
      std::string_view name;
      if (!string(name) || !take(':')) return false;
      const int index = field_of(type, name);
      if (index < 0 || !set.insert(index) || !charge()) return false;
      const FieldDescriptor& field = *type.field(index);
      if (!is_readable(field)) return false;
      const auto* const oneof = field.containing_oneof();
      if (oneof && reflection.HasOneof(message, oneof)) return false;
      if (peek() == 'n') {
        if (oneof || !may_be_absent(field) || !take_word("null")) return false;
        continue;
      }
      if (!(field.is_map()        ? map(reflection, message, field, depth)
            : field.is_repeated() ? array(reflection, message, field, depth)
                                  : value(reflection, message, field, depth)))
        return false;
    } while (take(','));
    skip_space();
    if (peek() != '}') return false;
    ++at_;
    return true;
  }

  static bool is_readable(const FieldDescriptor& field) {
    if (field.is_extension() || field.type() == FieldDescriptor::TYPE_GROUP) return false;
    return !field.enum_type() || field.enum_type()->full_name() != "google.protobuf.NullValue";
  }
  // Whether null means that the field is not set.
  static bool may_be_absent(const FieldDescriptor& field) {
    return !field.is_map() && (!field.message_type() ||
                               field.message_type()->well_known_type() != Descriptor::WELLKNOWNTYPE_VALUE);
  }

  bool array(const Reflection& r, Message& m, const FieldDescriptor& field, int depth) {
    if (!take('[')) return false;
    if (peek() == ']') return ++at_, true;
    do {
      if (!charge() || !element(r, m, field, depth)) return false;
    } while (take(','));
    skip_space();
    if (peek() != ']') return false;
    ++at_;
    return true;
  }

  bool map(const Reflection& r, Message& m, const FieldDescriptor& field, int depth) {
    const FieldDescriptor& key = *field.message_type()->map_key();
    const FieldDescriptor& content = *field.message_type()->map_value();
    if (!is_readable(content) || !take('{')) return false;
    if (take('}')) return true;
    std::vector<std::string_view> keys;
    do {
      if (!charge() || !charge()) return false;
      Message& entry = *r.AddMessage(&m, &field);
      const Reflection& of_entry = *entry.GetReflection();
      if (!map_key(of_entry, entry, key, keys.emplace_back()) || !take(':') || peek() == 'n') return false;
      if (!value(of_entry, entry, content, depth)) return false;
    } while (take(','));
    skip_space();
    if (peek() != '}') return false;
    ++at_;
    // By sorting: a table could be made slow by the choice of names.
    std::sort(keys.begin(), keys.end());
    return std::adjacent_find(keys.begin(), keys.end()) == keys.end();
  }
  // Keys are strings whatever their type. Those of the shortest form differ if their values do.
  bool map_key(const Reflection& r, Message& m, const FieldDescriptor& key, std::string_view& text) {
    const std::size_t start = at_;
    if (key.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      if (!string(text)) return false;
      r.SetString(&m, &key, std::string(text));
      return true;
    }
    if (peek() != '"') return false;
    if (key.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
      ++at_;
      if (!boolean([&](bool b) { r.SetBool(&m, &key, b); }) || peek() != '"') return false;
      ++at_;
    } else if (!value(r, m, key, 0)) {
      return false;
    }
    text = text_.substr(start, at_ - start);
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
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return set_real<double>([&](auto n) { r.SetDouble(&m, &field, n); });
      case FieldDescriptor::CPPTYPE_FLOAT: return set_real<float>([&](auto n) { r.SetFloat(&m, &field, n); });
      case FieldDescriptor::CPPTYPE_BOOL: return boolean([&](bool b) { r.SetBool(&m, &field, b); });
      case FieldDescriptor::CPPTYPE_ENUM:
        return enumerator(field, [&](auto* v) { r.SetEnum(&m, &field, v); });
      case FieldDescriptor::CPPTYPE_STRING:
        return text(field, [&](std::string s) { r.SetString(&m, &field, std::move(s)); });
      case FieldDescriptor::CPPTYPE_MESSAGE: return message(*r.MutableMessage(&m, &field), depth + 1);
    }
    return false;
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
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return set_real<double>([&](auto n) { r.AddDouble(&m, &field, n); });
      case FieldDescriptor::CPPTYPE_FLOAT: return set_real<float>([&](auto n) { r.AddFloat(&m, &field, n); });
      case FieldDescriptor::CPPTYPE_BOOL: return boolean([&](bool b) { r.AddBool(&m, &field, b); });
      case FieldDescriptor::CPPTYPE_ENUM:
        return enumerator(field, [&](auto* v) { r.AddEnum(&m, &field, v); });
      case FieldDescriptor::CPPTYPE_STRING:
        return text(field, [&](std::string s) { r.AddString(&m, &field, std::move(s)); });
      case FieldDescriptor::CPPTYPE_MESSAGE: return message(*r.AddMessage(&m, &field), depth + 1);
    }
    return false;
  }

  bool message(Message& m, int depth) {
    if (!charge()) return false;  // takes as long as several numbers
    switch (m.GetDescriptor()->well_known_type()) {
      case Descriptor::WELLKNOWNTYPE_UNSPECIFIED: return object(m, depth);
      case Descriptor::WELLKNOWNTYPE_TIMESTAMP: return timestamp(m);
      case Descriptor::WELLKNOWNTYPE_DOUBLEVALUE:
      case Descriptor::WELLKNOWNTYPE_FLOATVALUE:
      case Descriptor::WELLKNOWNTYPE_INT64VALUE:
      case Descriptor::WELLKNOWNTYPE_UINT64VALUE:
      case Descriptor::WELLKNOWNTYPE_INT32VALUE:
      case Descriptor::WELLKNOWNTYPE_UINT32VALUE:
      case Descriptor::WELLKNOWNTYPE_STRINGVALUE:
      case Descriptor::WELLKNOWNTYPE_BYTESVALUE:
      case Descriptor::WELLKNOWNTYPE_BOOLVALUE:
        return value(*m.GetReflection(), m, *m.GetDescriptor()->FindFieldByNumber(1), depth);
      default: return false;
    }
  }

  // Reads "2026-11-27T02:11:50.123Z", without an offset.
  bool timestamp(Message& m) {
    std::string_view from;
    if (!string(from) || from.size() < 20 || from.back() != 'Z') return false;
    for (const auto& [at, c] : {std::pair{4, '-'}, {7, '-'}, {10, 'T'}, {13, ':'}, {16, ':'}})
      if (from[static_cast<std::size_t>(at)] != c) return false;
    const auto number = [&](std::size_t at, std::size_t digits) {
      unsigned n = 0;
      for (const char c : from.substr(at, digits)) {
        if (c < '0' || c > '9') return ~0u;
        n = n * 10 + static_cast<unsigned>(c - '0');
      }
      return n;
    };
    const unsigned year = number(0, 4), month = number(5, 2), day = number(8, 2);
    const unsigned hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
    if (year - 1 > 9998 || month - 1 > 11 || day - 1 >= days_of_month(year, month) || hour > 23 ||
        minute > 59 || second > 59)
      return false;
    unsigned nanos = 0;
    if (from.size() > 20) {
      const std::size_t digits = from.size() - 21;
      if (from[19] != '.' || digits == 0 || digits > 9) return false;
      nanos = number(20, digits);
      if (nanos == ~0u) return false;
      for (std::size_t i = digits; i < 9; ++i) nanos *= 10;
    }
    const std::int64_t seconds =
        days_from_civil(year, month, day) * 86'400 + hour * 3600 + minute * 60 + second;
    const Reflection& r = *m.GetReflection();
    const Descriptor& type = *m.GetDescriptor();
    r.SetInt64(&m, type.FindFieldByNumber(1), seconds);
    r.SetInt32(&m, type.FindFieldByNumber(2), static_cast<std::int32_t>(nanos));
    return true;
  }

  template <class Integer, class Set>
  bool set(Set put) {
    Integer n{};
    if (!integer(n)) return false;
    put(n);
    return true;
  }
  template <class Real, class Set>
  bool set_real(Set put) {
    Real n{};
    if (!real(n)) return false;
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
    const EnumValueDescriptor* known = nullptr;
    if (peek() == '"') {
      std::string_view name;
      if (!string(name)) return false;
      known = field.enum_type()->FindValueByName(std::string(name));
    } else {
      std::int32_t number = 0;
      if (!integer(number)) return false;
      known = field.enum_type()->FindValueByNumber(number);
    }
    if (!known) return false;
    put(known);
    return true;
  }
  template <class Set>
  bool text(const FieldDescriptor& field, Set put) {
    std::string_view content;
    bool escaped = false;
    if (!raw_string(content, escaped)) return false;
    if (field.type() == FieldDescriptor::TYPE_BYTES) {
      std::string bytes;
      if (escaped || content.size() % 4 != 0 || !base::base64_decode(content, bytes)) return false;
      // Only the last characters can have other forms of the same bytes.
      const std::string_view last =
          std::string_view(bytes).substr(bytes.empty() ? 0 : (bytes.size() - 1) / 3 * 3);
      if (!content.ends_with(base::padded_base64(last))) return false;
      put(std::move(bytes));
      return true;
    }
    std::string whole(content);
    if (escaped && !escaped_rest(whole)) return false;
    put(std::move(whole));
    return true;
  }

  std::string_view text_;
  json_cost* const cost_;
  std::size_t at_ = 0;
  bool beyond_ascii_ = false;
  std::map<const Descriptor*, name_index> indexes_;
};

}  // namespace

bool write_plain_json(const Message& message, std::string& to) {
  const std::size_t before = to.size();
  if (plain_writer(to).object(message, 1) && message.IsInitialized()) return true;
  to.resize(before);
  return false;
}

bool read_plain_json(Message& message, std::string_view from, json_cost* cost) {
  message.Clear();
  return plain_reader(from, cost).run(message) && message.IsInitialized();
}

}  // namespace coracle::rpc
