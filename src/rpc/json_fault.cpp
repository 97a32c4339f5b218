#include "rpc/json_fault.hpp"

#include "base/printable.hpp"
#include "rpc/json_syntax.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coracle::rpc {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;

// Values of the peer stand in errors.
constexpr std::size_t value_bytes_max = 300;
// What one question costs beside the bytes of its text.
constexpr std::size_t question_bytes = 256;
constexpr std::size_t search_bytes_min = 64u << 10;
constexpr std::size_t search_bytes_per_byte = 4;
constexpr std::size_t none_wrong = static_cast<std::size_t>(-1);

// A member of an object or an element of an array, as it stands in the text.
struct json_part {
  std::string_view key;  // between its quotes; of an element: empty
  std::string_view value;
  const char* begin;  // of the member, with its key
};

// The parts of an object or an array in a text that is known to be JSON.
class json_parts {
 public:
  // Stops after `count_max`.
  json_parts(std::string_view text, std::size_t count_max) : text_(text), at_(1) {
    const bool object = text.front() == '{';
    for (skip_space(); text_[at_] != '}' && text_[at_] != ']'; skip_space()) {
      if (text_[at_] == ',') {
        ++at_;
        continue;
      }
      if (found_.size() == count_max) return;
      json_part part{{}, {}, text_.data() + at_};
      if (object) {
        const std::string_view quoted = take_value();
        part.key = quoted.substr(1, quoted.size() - 2);
        skip_space();
        ++at_;  // ':'
        skip_space();
      }
      part.value = take_value();
      found_.push_back(part);
    }
    complete_ = true;
  }
  [[nodiscard]] const std::vector<json_part>& all() const noexcept { return found_; }
  [[nodiscard]] bool complete() const noexcept { return complete_; }

 private:
  void skip_space() noexcept {
    while (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t') ++at_;
  }
  void skip_string() noexcept {
    for (++at_; text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\') ++at_;
    ++at_;
  }
  std::string_view take_value() noexcept {
    const std::size_t begin = at_;
    std::size_t depth = 0;
    do {
      switch (text_[at_]) {
        case '"': skip_string(); continue;
        case '{':
        case '[': ++depth; break;
        case '}':
        case ']':
          if (depth == 0) return text_.substr(begin, at_ - begin);
          --depth;
          break;
        default: break;
      }
      ++at_;
    } while (at_ < text_.size() &&
             (depth != 0 || std::string_view(",}] \n\r\t:").find(text_[at_]) == std::string_view::npos));
    return text_.substr(begin, at_ - begin);
  }

  std::string_view text_;
  std::size_t at_;
  std::vector<json_part> found_;
  bool complete_ = false;
};

// The fields of a type by both of their names.
class named_fields {
 public:
  explicit named_fields(const Descriptor& type) {
    for (int i = 0; i < type.field_count(); ++i) {
      fields_.try_emplace(std::string(type.field(i)->name()), type.field(i));
      fields_.try_emplace(std::string(type.field(i)->json_name()), type.field(i));
    }
  }
  [[nodiscard]] const FieldDescriptor* find(std::string_view key) const {
    const auto found = fields_.find(unescape_json(key));
    return found == fields_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::string, const FieldDescriptor*> fields_;
};

bool is_integer(const std::string& text, bool negative, bool wide) {
  std::int64_t number = 0;
  std::uint64_t natural = 0;
  const char* const end = text.data() + text.size();
  const auto read =
      negative ? std::from_chars(text.data(), end, number) : std::from_chars(text.data(), end, natural);
  if (read.ec != std::errc() || read.ptr != end) return false;
  return wide || (negative ? number == static_cast<std::int32_t>(number)
                           : natural == static_cast<std::uint32_t>(natural));
}

bool is_map_key(const FieldDescriptor& key, const std::string& text) {
  switch (key.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: return is_integer(text, true, false);
    case FieldDescriptor::CPPTYPE_INT64: return is_integer(text, true, true);
    case FieldDescriptor::CPPTYPE_UINT32: return is_integer(text, false, false);
    case FieldDescriptor::CPPTYPE_UINT64: return is_integer(text, false, true);
    case FieldDescriptor::CPPTYPE_BOOL: return text == "true" || text == "false";
    default: return true;
  }
}

std::string type_text(const FieldDescriptor& f) {
  if (f.message_type()) return std::string(f.message_type()->full_name());
  if (f.enum_type()) return std::string(f.enum_type()->full_name());
  return std::string(f.type_name());
}

json_fault at(std::string path, std::string reason) {
  return {json_fault::kind::other, std::move(path), {}, {}, std::move(reason)};
}

json_fault invalid(std::string path, const Descriptor& type) {
  return at(std::move(path),
            "the value is no valid " + std::string(type.full_name()) +
                (type.well_known_type() == Descriptor::WELLKNOWNTYPE_ANY ? " of a known type" : ""));
}

json_fault misfit(std::string path, const FieldDescriptor& field, std::string_view value) {
  const Descriptor* const type = field.message_type();
  if (type && (has_own_form(*type) || value.front() == '{')) return invalid(std::move(path), *type);
  json_fault made{json_fault::kind::misfit,
                  std::move(path),
                  std::string(value.substr(0, value_bytes_max)),
                  type_text(field),
                  {}};
  if (value.front() == '[') made.reason = "must not be an array";
  else if (value.front() == '{') made.reason = "must not be an object";
  else made.reason = base::printable(value, value_bytes_max) + " is no " + made.type;
  return made;
}

class fault_search {
 public:
  fault_search(bool ignore_unknown_fields, json_fits mapping, std::size_t bytes)
      : fits_(mapping), ignore_unknown_fields_(ignore_unknown_fields), left_(bytes) {}

  // `text` is refused as a message like `prototype`; `path` is that of the field that has it.
  json_fault in(const Message& prototype, std::string_view text, std::string path) {
    const Descriptor& type = *prototype.GetDescriptor();
    if (text.front() != '{' || has_own_form(type)) return invalid(std::move(path), type);
    const std::optional<json_parts> parts = parts_of(text);
    if (!parts) return invalid(std::move(path), type);
    const named_fields fields(type);
    const std::string before = path.empty() ? std::string() : path + ".";
    for (const json_part& one : parts->all())
      if (!ignore_unknown_fields_ && !one.key.starts_with('[') && !fields.find(one.key))
        return {json_fault::kind::unknown_field,
                before + base::printable(unescape_json(one.key)),
                {},
                {},
                "the message has no such field"};
    const std::size_t wrong = first_wrong(prototype, parts->all(), "{", "}");
    if (wrong == none_wrong) return of_several(type, fields, parts->all(), before, std::move(path));
    const json_part& one = parts->all()[wrong];
    const FieldDescriptor* const field = fields.find(one.key);
    if (!field) return at(before + base::printable(one.key), "the value is not valid");  // an extension
    return of(prototype, *field, one.value, before + std::string(field->name()));
  }

  [[nodiscard]] std::size_t left() const noexcept { return left_; }

 private:
  bool afford(std::size_t bytes) {
    const bool enough = bytes <= left_;
    left_ = enough ? left_ - bytes : 0;
    return enough;
  }
  // What cannot be asked any more counts as fitting, so that nothing more is found out.
  bool fits(const Message& prototype, const std::string& text) {
    return !afford(question_bytes + text.size()) || fits_(prototype, text, ignore_unknown_fields_);
  }
  // Nothing if there are too many.
  std::optional<json_parts> parts_of(std::string_view text) {
    if (!afford(text.size())) return std::nullopt;
    std::optional<json_parts> made(std::in_place, text, left_ / sizeof(json_part));
    if (!made->complete() || !afford(made->all().size() * sizeof(json_part))) made.reset();
    return made;
  }

  // The first of the parts that is refused alone, of those that are refused together.
  std::size_t first_wrong(const Message& prototype, const std::vector<json_part>& parts,
                          const std::string& before, const std::string& after) {
    std::size_t begin = 0;
    std::size_t end = parts.size();
    const auto refused = [&](std::size_t from, std::size_t to) {
      const char* const last = parts[to - 1].value.data() + parts[to - 1].value.size();
      return !fits(prototype, before + std::string(parts[from].begin, last) + after);
    };
    if (begin == end) return none_wrong;
    if (end == 1) return begin;
    while (end - begin > 1) {
      const std::size_t middle = begin + (end - begin) / 2;
      if (refused(begin, middle)) end = middle;
      else begin = middle;
    }
    if (!refused(begin, end)) return none_wrong;  // it is two that exclude each other, such as of a oneof
    return begin;
  }

  // Each field is right, and all together are refused.
  static json_fault of_several(const Descriptor& type, const named_fields& fields,
                               const std::vector<json_part>& parts, const std::string& before,
                               std::string path) {
    std::set<const OneofDescriptor*> set;
    for (const json_part& one : parts) {
      const FieldDescriptor* const field = fields.find(one.key);
      const OneofDescriptor* const choice =
          field && one.value != "null" ? field->containing_oneof() : nullptr;
      if (choice && !set.insert(choice).second)
        return at(before + std::string(field->name()),
                  "another field of the oneof " + std::string(choice->name()) + " is set");
    }
    return invalid(std::move(path), type);
  }

  json_fault of(const Message& prototype, const FieldDescriptor& field, std::string_view value,
                std::string path) {
    const bool many = field.is_repeated() && value.front() == (field.is_map() ? '{' : '[');
    if (!many) return single(prototype, field, value, std::move(path));
    const std::optional<json_parts> parts = parts_of(value);
    const std::string name = "{\"" + std::string(field.name()) + "\":";
    if (!parts) return at(std::move(path), "the value is no valid " + type_text(field));
    const std::size_t wrong = field.is_map() ? first_wrong(prototype, parts->all(), name + "{", "}}")
                                             : first_wrong(prototype, parts->all(), name + "[", "]}");
    if (wrong == none_wrong) return at(std::move(path), "the value is no valid " + type_text(field));
    const json_part& one = parts->all()[wrong];
    if (!field.is_map()) return single(prototype, field, one.value, path + "[" + std::to_string(wrong) + "]");
    const FieldDescriptor& key = *field.message_type()->map_key();
    const std::string shown = "\"" + base::printable(one.key) + "\"";
    if (!is_map_key(key, unescape_json(one.key)))
      return at(std::move(path), "the key " + shown + " is no " + type_text(key));
    return single(prototype, *field.message_type()->map_value(), one.value, path + "[" + shown + "]");
  }

  // One value of a field, of an element or of a value of a map.
  json_fault single(const Message& prototype, const FieldDescriptor& field, std::string_view value,
                    std::string path) {
    const Descriptor* const type = field.message_type();
    const Message* const inner = type && !has_own_form(*type) && value.front() == '{'
                                     ? prototype.GetReflection()->GetMessageFactory()->GetPrototype(type)
                                     : nullptr;
    return inner ? in(*inner, value, std::move(path)) : misfit(std::move(path), field, value);
  }

  const json_fits fits_;
  const bool ignore_unknown_fields_;
  std::size_t left_;
};

}  // namespace

json_search search_json_fault(const Message& prototype, std::string_view text, bool ignore_unknown_fields,
                              json_fits fits) {
  const std::size_t begin = text.find_first_not_of(" \n\r\t");
  text = text.substr(begin, text.find_last_not_of(" \n\r\t") + 1 - begin);
  const std::size_t bytes_max = search_bytes_min + search_bytes_per_byte * text.size();
  fault_search search(ignore_unknown_fields, fits, bytes_max);
  json_fault found = search.in(prototype, text, {});
  return {std::move(found), bytes_max - search.left()};
}

}  // namespace coracle::rpc
