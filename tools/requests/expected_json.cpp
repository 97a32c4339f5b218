#include "tools/requests/expected_json.hpp"

#include "tools/failure.hpp"

#include <google/protobuf/descriptor.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <regex>
#include <string_view>
#include <utility>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;
using ordered_json = nlohmann::ordered_json;

constexpr std::string_view any_mark = "{{any}}", match_begin = "{{match ", match_end = "}}";

std::string dumped(const ordered_json& value) {
  constexpr std::size_t shown_max = 200;
  std::string text = value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return text.size() <= shown_max ? text : text.substr(0, shown_max) + "...";
}

// "year_of_production" as protobuf writes it in JSON.
std::string camel_case(const std::string& name) {
  std::string camel;
  bool upper = false;
  for (const char c : name) {
    if (c != '_') camel += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = c == '_';
  }
  return camel;
}

bool is_default(const ordered_json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().empty() || value == "0";
  return value.is_null() || (value.is_boolean() && !value.get<bool>()) ||
         (value.is_number() && value.get<double>() == 0) || (value.is_structured() && value.empty());
}

class json_comparison {
 public:
  void compare(const ordered_json& expected, const ordered_json& found, const std::string& path) {
    if (expected.is_string() && matches_pattern(expected.get_ref<const std::string&>(), found, path)) return;
    if (expected.is_object() && found.is_object()) return compare_objects(expected, found, path);
    if (expected.is_array() && found.is_array()) return compare_arrays(expected, found, path);
    if (expected == found || same_number(expected, found) || same_number(found, expected)) return;
    add(path, "is " + dumped(found) + ", expected " + dumped(expected));
  }

  std::vector<std::string> all;

 private:
  void add(const std::string& path, const std::string& text) {
    all.push_back((path.empty() ? "the reply" : path) + " " + text);
  }

  // Whether the text is a pattern, which has been compared then.
  bool matches_pattern(const std::string& text, const ordered_json& found, const std::string& path) {
    if (text == any_mark) return true;
    if (!text.starts_with(match_begin) || !text.ends_with(match_end)) return false;
    const std::string expression =
        text.substr(match_begin.size(), text.size() - match_begin.size() - match_end.size());
    constexpr std::size_t expression_max = 1'000;  // std::regex takes stack for each parenthesis, too
    if (expression.size() > expression_max)
      throw failure("an expression has at most " + std::to_string(expression_max) + " characters, not " +
                    std::to_string(expression.size()));
    try {
      const std::string value = found.is_string() ? found.get<std::string>() : dumped(found);
      constexpr std::size_t matched_max = 10'000;
      // The other way of std::regex takes stack for each character, and time without bound for some
      // expressions. This one has no back-references.
      constexpr auto syntax = std::regex::ECMAScript | std::regex_constants::__polynomial;
      if (value.size() > matched_max) add(path, "is too long for an expression");
      else if (!std::regex_match(value, std::regex(expression, syntax)))
        add(path, "is " + dumped(found) + ", which does not match " + expression);
    } catch (const std::regex_error&) {
      throw failure("'" + expression + "' is no valid regular expression");
    }
    return true;
  }

  static bool same_number(const ordered_json& text, const ordered_json& number) {
    return text.is_string() && number.is_number() && text.get_ref<const std::string&>() == number.dump();
  }

  void compare_objects(const ordered_json& expected, const ordered_json& found, const std::string& path) {
    for (const auto& [name, value] : expected.items()) {
      auto field = found.find(name);
      if (field == found.end()) field = found.find(camel_case(name));
      const std::string inner = path + "." + name;
      if (field != found.end()) compare(value, *field, inner);
      else if (!is_default(value)) add(inner, "is missing, expected " + dumped(value));
    }
  }

  void compare_arrays(const ordered_json& expected, const ordered_json& found, const std::string& path) {
    if (expected.size() != found.size())
      return add(path, "has " + std::to_string(found.size()) + " elements, expected " +
                           std::to_string(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i)
      compare(expected[i], found[i], path + "[" + std::to_string(i) + "]");
  }
};

const pb::FieldDescriptor* field_named(const pb::Descriptor& type, const std::string& name) {
  const std::string camel = camel_case(name);
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor* const field = type.field(i);
    if (field->json_name() == name || field->name() == name || field->json_name() == camel) return field;
  }
  return nullptr;
}

std::optional<unknown_field> find_in_field(const ordered_json& expected, const pb::FieldDescriptor& field) {
  const pb::Descriptor* type = field.message_type();
  if (type && field.is_map()) type = type->FindFieldByNumber(2)->message_type();
  if (!type) return std::nullopt;
  if (!field.is_repeated()) return find_unknown_field(expected, *type);
  if (!expected.is_structured()) return std::nullopt;
  for (const ordered_json& element : expected)
    if (const auto found = find_unknown_field(element, *type)) return found;
  return std::nullopt;
}

}  // namespace

std::optional<unknown_field> find_unknown_field(const ordered_json& expected, const pb::Descriptor& type) {
  const bool has_own_form = type.well_known_type() != pb::Descriptor::WELLKNOWNTYPE_UNSPECIFIED;
  if (!expected.is_object() || has_own_form) return std::nullopt;
  for (const auto& [name, value] : expected.items()) {
    if (name.starts_with('[')) continue;  // an extension
    const pb::FieldDescriptor* const field = field_named(type, name);
    if (!field) return unknown_field{name, &type};
    if (const auto found = find_in_field(value, *field)) return found;
  }
  return std::nullopt;
}

std::vector<std::string> differences(const ordered_json& expected, const ordered_json& reply) {
  json_comparison compared;
  compared.compare(expected, reply, "");
  return std::move(compared.all);
}

}  // namespace coracle::tools
