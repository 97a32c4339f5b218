#include "tools/format/invalid_message.hpp"

#include "tools/manual/closest_words.hpp"
#include "tools/utf8.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

namespace coracle::tools {

namespace pb = google::protobuf;

namespace {

constexpr std::size_t shown_bytes_max = 100;

std::size_t offset_of(std::string_view text, text_place at) {
  std::size_t begin = 0;
  for (std::size_t line = 1; line < at.line; ++line) begin = text.find('\n', begin) + 1;
  return std::min(begin + at.column - 1, text.size());
}

text_place place_at(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  return {1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')),
          before.size() - (before.rfind('\n') + 1) + 1};
}

// Moves to the beginning of a character.
std::size_t at_character(std::string_view text, std::size_t offset) {
  while (offset > 0 && offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xc0) == 0x80)
    --offset;
  return offset;
}

// "year_of_production" and "yearOfProduction" are the same field.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (c != '_') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return plain;
}

// A part of a path such as "directors[0].first_name": a name with an index.
struct path_step {
  std::string name;
  std::optional<std::size_t> index;
};

std::vector<path_step> path_steps_of(std::string_view path) {
  std::vector<path_step> all;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('.'), path.size());
    const std::string_view part = path.substr(0, end);
    const std::size_t bracket = part.find('[');
    path_step one{std::string(part.substr(0, bracket)), std::nullopt};
    std::size_t index = 0;
    if (bracket != part.npos &&
        std::from_chars(part.data() + bracket + 1, part.data() + part.size(), index).ec == std::errc())
      one.index = index;
    all.push_back(std::move(one));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return all;
}

// Finds values in a text that is known to be valid JSON.
class json_walker {
 public:
  explicit json_walker(std::string_view text) : text_(text) { skip_space(); }

  // Goes to the value of the name, or to the name itself; false if this is no object with such a name.
  bool enter(std::string_view name, bool stop_at_name) {
    if (!open('{')) return false;
    for (bool more = !closed('}'); more; more = next('}')) {
      const std::size_t begin = at_;
      skip_string();
      const bool found = plain_name(text_.substr(begin + 1, at_ - begin - 2)) == plain_name(name);
      if (found && stop_at_name) return at_ = begin, true;
      skip_space();
      ++at_;  // the colon
      skip_space();
      if (found) return true;
      skip_value();
    }
    return false;
  }

  bool enter(std::size_t index) {
    if (!open('[')) return false;
    bool more = !closed(']');
    for (; more && index > 0; --index) {
      skip_value();
      more = next(']');
    }
    return more;
  }

  [[nodiscard]] std::size_t at() const noexcept { return at_; }

 private:
  [[nodiscard]] char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool open(char c) {
    if (peek() != c) return false;
    ++at_;
    skip_space();
    return true;
  }
  [[nodiscard]] bool closed(char c) const noexcept { return peek() == c || peek() == '\0'; }
  bool next(char closing) {
    skip_space();
    if (closed(closing)) return false;
    ++at_;  // the comma
    skip_space();
    return true;
  }
  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  void skip_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) at_ += text_[at_] == '\\' ? 1 : 0;
    at_ = std::min(at_ + 1, text_.size());
  }
  void skip_value() {
    std::size_t depth = 0;
    do {
      if (peek() == '"') {
        skip_string();
        continue;
      }
      if (peek() == '{' || peek() == '[') ++depth;
      else if ((peek() == '}' || peek() == ']') && depth > 0) --depth;
      else if (depth == 0) return void(at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size()));
      ++at_;
    } while (depth > 0 && at_ < text_.size());
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::optional<std::size_t> find_in_json(std::string_view json, const std::vector<path_step>& path,
                                        bool name_of_last) {
  json_walker walker(json);
  for (const path_step& one : path) {
    const bool is_last = &one == &path.back();
    if (!walker.enter(one.name, is_last && name_of_last)) return std::nullopt;
    if (one.index && !walker.enter(*one.index)) return std::nullopt;
  }
  return walker.at();
}

const pb::Descriptor* type_in_path(const pb::Descriptor* type, const std::vector<path_step>& path) {
  for (const path_step& one : path) {
    const pb::FieldDescriptor* field = type ? type->FindFieldByName(one.name) : nullptr;
    type = field ? field->message_type() : nullptr;
  }
  return type;
}

std::vector<std::string> json_names_of(const pb::Descriptor* type) {
  std::vector<std::string> all;
  for (int i = 0; type && i < type->field_count(); ++i) all.emplace_back(type->field(i)->json_name());
  return all;
}

// What the text in quotes may mean for the field of enums at the end of the path.
std::string meant_value(const pb::Descriptor* type, std::vector<path_step> path, std::string_view quoted) {
  if (path.empty() || quoted.size() < 2 || quoted.front() != '"') return {};
  const std::string last = path.back().name;
  path.pop_back();
  type = type_in_path(type, path);
  const pb::FieldDescriptor* const field = type ? type->FindFieldByName(last) : nullptr;
  if (!field || !field->enum_type()) return {};
  std::vector<std::string> names;
  for (int i = 0; i < field->enum_type()->value_count(); ++i)
    names.emplace_back(field->enum_type()->value(i)->name());
  std::string upper(quoted.substr(1, quoted.size() - 2));
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  const std::vector<std::string> meant = closest_words(upper, names);
  return meant.empty() ? std::string() : suggestion(meant);
}

// "line 1, column 18: ", or "" for an unknown place.
std::string place_text(text_place at) {
  if (at.line == 0) return {};
  return "line " + std::to_string(at.line) + ", column " + std::to_string(at.column) + ": ";
}

std::size_t characters_in(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(std::max<std::size_t>(first_character(text).bytes, 1));
  return count;
}

text_place in_characters(std::string_view text, text_place at) {
  if (at.line == 0) return at;
  const std::size_t end = offset_of(text, at);
  const std::size_t begin = end == 0 ? 0 : text.rfind('\n', end - 1) + 1;
  return {at.line, characters_in(text.substr(begin, end - begin)) + 1};
}

std::string excerpt_of(std::string_view text, text_place at) {
  const bool known = at.line != 0;
  const std::size_t offset = known ? offset_of(text, at) : 0;
  std::size_t begin = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;
  std::size_t end = std::min(text.find('\n', offset), text.size());
  const bool cut_begin = offset - begin > shown_bytes_max / 2;
  if (cut_begin) begin = at_character(text, offset - shown_bytes_max / 2);
  const bool cut_end = end - begin > shown_bytes_max;
  if (cut_end) end = at_character(text, begin + shown_bytes_max);
  std::string line(text.substr(begin, end - begin));
  std::replace(line.begin(), line.end(), '\t', ' ');
  line.erase(line.find_last_not_of(" \r") + 1);
  const std::string before = cut_begin ? "..." : "";
  std::string all = "\n  " + before + line + (cut_end ? "..." : "");
  if (!known) return all;
  const std::size_t columns = before.size() + characters_in(text.substr(begin, offset - begin));
  return all + "\n  " + std::string(columns, ' ') + "^";
}

}  // namespace

invalid_message::invalid_message(std::string_view text, const pb::Descriptor& type, text_place at,
                                 const std::string& reason, std::string hint)
    : failure("this is not a valid " + std::string(type.full_name()) + ": " +
                  place_text(in_characters(text, at)) + reason + excerpt_of(text, at),
              std::move(hint)),
      at_(in_characters(text, at)),
      reason_(reason),
      excerpt_(excerpt_of(text, at)) {}

invalid_message refused_json(std::string_view json, const pb::Descriptor& type,
                             const rpc::json_fault& fault) {
  using kind = rpc::json_fault::kind;
  std::vector<path_step> path = path_steps_of(fault.path);
  const auto invalid = [&](const std::string& reason) {
    const auto offset = find_in_json(json, path, fault.fault == kind::unknown_field);
    return invalid_message(json, type, offset ? place_at(json, *offset) : text_place{}, reason);
  };
  const bool object = json.substr(std::min(json.find_first_not_of(" \t\r\n"), json.size())).starts_with('{');
  if (path.empty()) return invalid(object ? fault.reason : "it must be an object: {...}");
  const std::string name = path.back().name;
  if (fault.fault == kind::unknown_field) {
    const std::vector<path_step> parent(path.begin(), path.end() - 1);
    std::string meant = suggestion(closest_words(name, json_names_of(type_in_path(&type, parent))));
    if (meant == ";") meant.clear();
    return invalid("there is no field '" + name + "'" + meant);
  }
  if (fault.fault != kind::misfit) return invalid(fault.reason);
  if (fault.value.starts_with('{'))
    return invalid("the field " + name + " is no message, and takes no object");
  return invalid(fault.value + " is no value of the type " + fault.type +
                 meant_value(&type, path, fault.value));
}

invalid_message broken_json(std::string_view json, const pb::Descriptor& type, const std::string& message) {
  text_place at;
  int length = 0;
  if (std::sscanf(message.c_str(), "the JSON is invalid at line %zu, column %zu: %n", &at.line, &at.column,
                  &length) != 2 ||
      length == 0)
    return invalid_message(json, type, {}, message, "");
  // What is missing at the end is not missing on the next line.
  const std::string_view text = json.substr(0, json.find_last_not_of(" \t\r\n") + 1);
  at = place_at(text, std::min(offset_of(json, at), text.size()));
  return invalid_message(text, type, at, message.substr(static_cast<std::size_t>(length)), "");
}

}  // namespace coracle::tools
