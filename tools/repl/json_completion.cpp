#include "tools/repl/json_completion.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;
using json_field = pb::FieldDescriptor;

constexpr std::string_view blanks = " \t\r\n";
constexpr std::string_view any_type_key = "@type";

// A message whose JSON is not an object with its fields.
bool is_own_form(const pb::Descriptor& type) {
  return type.file()->package() == "google.protobuf" && type.full_name() != "google.protobuf.Empty" &&
         type.well_known_type() != pb::Descriptor::WELLKNOWNTYPE_UNSPECIFIED &&
         type.well_known_type() != pb::Descriptor::WELLKNOWNTYPE_ANY;
}

class json_reader {
 public:
  json_reader(const pb::Descriptor& type, std::string_view text, const message_finder& find)
      : type_(type), text_(text), find_(find) {}

  json_completion read() {
    while (at_ < text_.size()) {
      const std::size_t before = at_;
      const char c = text_[at_];
      if (blanks.find(c) != blanks.npos) {
        ++at_;
        continue;
      }
      const bool read = c == '"' ? string_token() : punctuation(c) || word_token();
      if (open_) return {before, offers(text_.substr(before))};
      if (!read) return {text_.size(), {}};
    }
    return {text_.size(), offers({})};
  }

 private:
  enum class expected { key, colon, value, comma };
  // An object or an array that has begun.
  struct level {
    bool is_object = true;
    bool is_free = false;  // any JSON: no completion
    const pb::Descriptor* message = nullptr;  // of an object with fields
    const json_field* field = nullptr;  // of an array's elements, a map's values, or the key that was read
    std::set<const json_field*> set{};
    expected next = expected::key;
    bool names_type = false;  // the value of "@type" follows
  };

  [[nodiscard]] level* top() { return levels_.empty() ? nullptr : &levels_.back(); }

  bool punctuation(char c) {
    switch (c) {
      case '{': return begin_object();
      case '[': return begin_array();
      case '}':
      case ']': return end(c == '}');
      case ':':
        if (!top() || top()->next != expected::colon) return false;
        top()->next = expected::value;
        return ++at_, true;
      case ',':
        if (!top() || top()->next != expected::comma) return false;
        top()->next = top()->is_object ? expected::key : expected::value;
        return ++at_, true;
      default: return false;
    }
  }

  bool begin_object() {
    level made;
    if (!levels_.empty()) {
      level& outer = levels_.back();
      if (outer.next != expected::value) return false;
      outer.next = expected::comma;
      const json_field* const f = outer.field;
      if (outer.is_free || !f) made.is_free = true;
      else if (f->is_map() && outer.message) made.field = f->message_type()->map_value();
      else if (f->message_type() && !is_own_form(*f->message_type())) made.message = f->message_type();
      else made.is_free = true;
    } else {
      made.message = &type_;
    }
    levels_.push_back(std::move(made));
    return ++at_, true;
  }

  bool begin_array() {
    if (levels_.empty() || levels_.back().next != expected::value) return false;
    level& outer = levels_.back();
    outer.next = expected::comma;
    level made;
    made.is_object = false;
    made.next = expected::value;
    const bool elements = !outer.is_free && outer.message && outer.field && outer.field->is_repeated() &&
                          !outer.field->is_map();
    made.is_free = !elements;
    made.field = elements ? outer.field : nullptr;
    levels_.push_back(std::move(made));
    return ++at_, true;
  }

  bool end(bool object) {
    if (levels_.empty() || levels_.back().is_object != object) return false;
    levels_.pop_back();
    return ++at_, true;
  }

  bool string_token() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return open_ = true;
    const std::string_view content = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return finished(content);
  }

  // A number, true, a name without quotes. At the end of the text it is unfinished.
  bool word_token() {
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n{}[]:,\"", at_), text_.size());
    if (end == text_.size()) return open_ = true;
    if (end == at_) return false;
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    return finished(word);
  }

  bool finished(std::string_view token) {
    level* const l = top();
    if (!l) return false;
    if (l->next == expected::value) {
      if (std::exchange(l->names_type, false)) {
        const pb::Descriptor* const named = find_(token.substr(token.find_last_of('/') + 1));
        l->is_free = !named;
        l->message = named;
      }
      l->next = expected::comma;
      return true;
    }
    if (l->next != expected::key) return false;
    l->next = expected::colon;
    if (!l->message || l->is_free) return true;
    l->field = field_named(*l->message, token);
    if (l->field) l->set.insert(l->field);
    l->names_type = token == any_type_key;
    return true;
  }

  static const json_field* field_named(const pb::Descriptor& type, std::string_view name) {
    for (int i = 0; i < type.field_count(); ++i)
      if (type.field(i)->json_name() == name || type.field(i)->name() == name) return type.field(i);
    return nullptr;
  }

  [[nodiscard]] static bool is_free_field(const level& l, const json_field& f) {
    if (l.set.count(&f) > 0) return false;
    const pb::OneofDescriptor* const one = f.real_containing_oneof();
    return !one || std::none_of(l.set.begin(), l.set.end(), [&](const json_field* other) {
      return other->real_containing_oneof() == one;
    });
  }

  std::vector<std::string> offers(std::string_view begun) {
    const level* const l = top();
    std::vector<std::string> all;
    if (!l) all = {"{"};
    else if (l->is_free) return {};
    else if (l->next == expected::key && l->message) all = keys(*l, begun);
    else if (l->next == expected::value && l->names_type) all = {"\"type.googleapis.com/"};
    else if (l->next == expected::value && l->field) all = values(*l);
    std::erase_if(all, [&](const std::string& one) { return !one.starts_with(begun); });
    return all;
  }

  static std::vector<std::string> keys(const level& l, std::string_view begun) {
    const bool quoted = begun.empty() || begun.front() == '"';
    const auto as_key = [&](std::string_view name) {
      return (quoted ? "\"" + std::string(name) + "\"" : std::string(name)) + ":";
    };
    std::vector<std::string> all;
    if (l.message->full_name() == "google.protobuf.Any") return {as_key(any_type_key)};
    for (int i = 0; i < l.message->field_count(); ++i) {
      const json_field& f = *l.message->field(i);
      if (!is_free_field(l, f)) continue;
      const std::string usual = as_key(f.json_name());
      all.push_back(usual.starts_with(begun) ? usual : as_key(f.name()));
    }
    return all;
  }

  std::vector<std::string> values(const level& l) const {
    const json_field& f = *l.field;
    const bool whole = l.is_object && l.message;  // not an element, nor a map's value
    if (whole && f.is_map()) return {"{"};
    if (whole && f.is_repeated()) return {"["};
    if (f.enum_type()) return enum_values(*f.enum_type());
    if (!f.message_type()) return scalars(f);
    if (!is_own_form(*f.message_type())) return {"{"};
    switch (f.message_type()->well_known_type()) {
      case pb::Descriptor::WELLKNOWNTYPE_STRUCT: return {"{"};
      case pb::Descriptor::WELLKNOWNTYPE_LISTVALUE: return {"["};
      case pb::Descriptor::WELLKNOWNTYPE_VALUE: return {};
      case pb::Descriptor::WELLKNOWNTYPE_TIMESTAMP:
      case pb::Descriptor::WELLKNOWNTYPE_DURATION:
      case pb::Descriptor::WELLKNOWNTYPE_FIELDMASK: return {"\""};
      default: return scalars(*f.message_type()->field(0));  // a wrapper
    }
  }

  static std::vector<std::string> enum_values(const pb::EnumDescriptor& type) {
    if (type.full_name() == "google.protobuf.NullValue") return {"null"};
    std::vector<std::string> all;
    for (int i = 0; i < type.value_count(); ++i)
      all.push_back("\"" + std::string(type.value(i)->name()) + "\"");
    return all;
  }

  static std::vector<std::string> scalars(const json_field& f) {
    if (f.cpp_type() == json_field::CPPTYPE_BOOL) return {"true", "false"};
    if (f.cpp_type() == json_field::CPPTYPE_STRING) return {"\""};
    return {};
  }

  const pb::Descriptor& type_;
  const std::string_view text_;
  const message_finder& find_;
  std::size_t at_ = 0;
  bool open_ = false;  // the last token is unfinished
  std::vector<level> levels_;
};

}  // namespace

json_completion complete_json(const pb::Descriptor& type, std::string_view text, const message_finder& find) {
  return json_reader(type, text, find).read();
}

}  // namespace coracle::tools
