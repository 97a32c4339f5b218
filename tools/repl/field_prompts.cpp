#include "tools/repl/field_prompts.hpp"

#include "tools/diagnostics.hpp"
#include "tools/failure.hpp"
#include "tools/format/message_json.hpp"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <memory>
#include <vector>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;
using field_type = pb::FieldDescriptor;

// Bounds the depth of recursive message types.
constexpr int depth_max = 16;

std::string type_name(const field_type& f) {
  std::string name = f.is_repeated() ? "repeated " : "";
  if (f.is_map()) return "map";
  if (f.message_type()) return name + std::string(f.message_type()->full_name());
  if (f.enum_type()) return name + std::string(f.enum_type()->name());
  return name + std::string(f.type_name());
}

template <class Number>
Number number(const std::string& text, const field_type& f) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw failure(std::string(f.name()) + " is of the type " + std::string(f.type_name()) + ", which '" +
                  text + "' is not");
  return value;
}

bool is_yes(const std::string& text) {
  return text == "true" || text == "t" || text == "yes" || text == "y" || text == "1";
}
bool is_no(const std::string& text) {
  return text == "false" || text == "f" || text == "no" || text == "n" || text == "0";
}

bool parse_bool(const std::string& text, const field_type& f) {
  if (is_yes(text)) return true;
  if (is_no(text)) return false;
  throw failure(std::string(f.name()) + " is true or false, not '" + text + "'");
}

const pb::EnumValueDescriptor& choice(const std::string& text, const field_type& f) {
  if (const auto* by_name = f.enum_type()->FindValueByName(text)) return *by_name;
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error == std::errc() && end == text.data() + text.size())
    if (const auto* by_number = f.enum_type()->FindValueByNumber(n)) return *by_number;
  std::string all;
  for (int i = 0; i < f.enum_type()->value_count(); ++i)
    all += " " + std::string(f.enum_type()->value(i)->name());
  throw failure(std::string(f.name()) + " is one of" + all + ", not '" + text + "'");
}

std::vector<std::string> choices(const field_type& f) {
  std::vector<std::string> names;
  for (int i = 0; f.enum_type() && i < f.enum_type()->value_count(); ++i)
    names.push_back(std::string(f.enum_type()->value(i)->name()));
  if (f.cpp_type() == field_type::CPPTYPE_BOOL) names = {"true", "false"};
  return names;
}

// How people write protobuf's own types in one line; empty for other messages.
std::string written_as(const pb::Descriptor& type) {
  const std::string name(type.full_name());
  if (name == "google.protobuf.Timestamp") return "a time such as 2026-01-31T12:00:00Z";
  if (name == "google.protobuf.Duration") return "a duration such as 1.5s";
  if (name == "google.protobuf.FieldMask") return "fields such as title,year";
  if (name == "google.protobuf.Struct") return "a JSON object";
  if (name == "google.protobuf.Value") return "any JSON value";
  if (name == "google.protobuf.ListValue") return "a JSON array";
  const bool wrapper = name.starts_with("google.protobuf.") && name.ends_with("Value") &&
                       type.field_count() == 1 && type.field(0)->name() == "value";
  return wrapper ? std::string(type.field(0)->type_name()) : std::string();
}

// Whether the JSON form of such a type is a string, which people write without quotes.
bool is_string_in_json(const pb::Descriptor& type) {
  if (type.field_count() == 1 && type.field(0)->name() == "value") {
    const auto of_value = type.field(0)->cpp_type();
    return of_value == field_type::CPPTYPE_STRING;
  }
  const std::string name(type.full_name());
  return name.ends_with(".Timestamp") || name.ends_with(".Duration") || name.ends_with(".FieldMask");
}

// Sets a field of such a type, or appends to a repeated one.
void put_written(pb::Message& m, const field_type& f, const std::string& text) {
  const bool quoted = is_string_in_json(*f.message_type());
  const std::string value =
      quoted ? nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) : text;
  const std::unique_ptr<pb::Message> one(m.New());
  try {
    from_json(
        "{\"" + std::string(f.json_name()) + "\":" + (f.is_repeated() ? "[" + value + "]" : value) + "}",
        *one);
  } catch (const failure&) {
    throw failure(std::string(f.name()) + " is " + written_as(*f.message_type()) + ", not '" + text + "'");
  }
  m.MergeFrom(*one);
}

// Sets a field, or appends to a repeated one.
void put(pb::Message& m, const field_type& f, const std::string& text) {
  const pb::Reflection& r = *m.GetReflection();
  const bool many = f.is_repeated();
  switch (f.cpp_type()) {
    case field_type::CPPTYPE_INT32: {
      const auto v = number<std::int32_t>(text, f);
      return many ? r.AddInt32(&m, &f, v) : r.SetInt32(&m, &f, v);
    }
    case field_type::CPPTYPE_INT64: {
      const auto v = number<std::int64_t>(text, f);
      return many ? r.AddInt64(&m, &f, v) : r.SetInt64(&m, &f, v);
    }
    case field_type::CPPTYPE_UINT32: {
      const auto v = number<std::uint32_t>(text, f);
      return many ? r.AddUInt32(&m, &f, v) : r.SetUInt32(&m, &f, v);
    }
    case field_type::CPPTYPE_UINT64: {
      const auto v = number<std::uint64_t>(text, f);
      return many ? r.AddUInt64(&m, &f, v) : r.SetUInt64(&m, &f, v);
    }
    case field_type::CPPTYPE_DOUBLE: {
      const auto v = number<double>(text, f);
      return many ? r.AddDouble(&m, &f, v) : r.SetDouble(&m, &f, v);
    }
    case field_type::CPPTYPE_FLOAT: {
      const auto v = number<float>(text, f);
      return many ? r.AddFloat(&m, &f, v) : r.SetFloat(&m, &f, v);
    }
    case field_type::CPPTYPE_BOOL: {
      const bool v = parse_bool(text, f);
      return many ? r.AddBool(&m, &f, v) : r.SetBool(&m, &f, v);
    }
    case field_type::CPPTYPE_ENUM: {
      const auto& v = choice(text, f);
      return many ? r.AddEnum(&m, &f, &v) : r.SetEnum(&m, &f, &v);
    }
    case field_type::CPPTYPE_STRING: return many ? r.AddString(&m, &f, text) : r.SetString(&m, &f, text);
    case field_type::CPPTYPE_MESSAGE: break;  // filled in field by field
  }
}

}  // namespace

template <class Take>
bool field_prompts::ask(const std::string& prompt, Take take) {
  for (bool again = false;; again = true) {
    const auto line = lines_.next(prompt);
    if (!line) return ended_ = true, false;
    answered_ = true;
    if (line->empty()) return false;
    try {
      take(*line);
      return true;
    } catch (const failure& error) {
      if (!lines_.interactive()) throw;
      if (again) print_prompt_error("'" + *line + "' is not valid either");
      else print_prompt_error(error.what(), "Enter leaves it out, Ctrl-C cancels the call");
    }
  }
}

bool field_prompts::fill(pb::Message& message) {
  ended_ = answered_ = false;
  if (message.GetDescriptor()->field_count() == 0) return true;
  fill_fields(message, "", 0);
  return answered_;
}

bool field_prompts::fill_fields(pb::Message& message, const std::string& before, int depth) {
  const pb::Descriptor& type = *message.GetDescriptor();
  bool any = false;
  for (int i = 0; i < type.field_count() && !ended_; ++i) {
    const field_type& f = *type.field(i);
    const pb::OneofDescriptor* const one = f.real_containing_oneof();
    if (!one) any |= fill_field(message, f, before, depth);
    else if (one->field(0) == &f) any |= fill_oneof(message, *one, before, depth);
  }
  return any;
}

bool field_prompts::fill_oneof(pb::Message& message, const pb::OneofDescriptor& one,
                               const std::string& before, int depth) {
  std::vector<std::string> names;
  std::string listed;
  for (int i = 0; i < one.field_count(); ++i) {
    names.push_back(std::string(one.field(i)->name()));
    listed += (i ? ", " : "") + names.back();
  }
  const pb::FieldDescriptor* chosen = nullptr;
  lines_.set_replacement(&names);
  const bool answered =
      ask(before + std::string(one.name()) + " (one of " + listed + ") = ", [&](const std::string& name) {
        chosen = one.containing_type()->FindFieldByName(name);
        if (!chosen || chosen->real_containing_oneof() != &one)
          throw failure(name + " is not one of " + listed);
      });
  lines_.set_replacement(nullptr);
  return answered && fill_field(message, *chosen, before, depth);
}

bool field_prompts::fill_field(pb::Message& message, const field_type& f, const std::string& before,
                               int depth) {
  if (!f.is_repeated()) return fill_value(message, f, before, depth);
  bool any = false;
  while (!ended_ && fill_value(message, f, before, depth)) any = true;
  return any;
}

bool field_prompts::fill_value(pb::Message& message, const field_type& f, const std::string& before,
                               int depth) {
  const std::string name = before + std::string(f.name());
  if (!f.message_type()) {
    const std::vector<std::string> offered = choices(f);
    lines_.set_replacement(&offered);
    const bool answered =
        ask(name + " (" + type_name(f) + ") = ", [&](const std::string& text) { put(message, f, text); });
    lines_.set_replacement(nullptr);
    return answered;
  }
  if (const std::string form = written_as(*f.message_type()); !form.empty() && !f.is_map())
    return ask(name + " (" + (f.is_repeated() ? "repeated, " : "") + form + ") = ",
               [&](const std::string& text) { put_written(message, f, text); });
  if (depth == depth_max) return false;
  bool wanted = false;
  const bool answered = ask(name + " (" + type_name(f) + "), fill it? [y/N] ", [&](const std::string& text) {
    if (!is_yes(text) && !is_no(text))
      throw failure("answer y to be asked for the fields of " + name + ", or n to leave it out");
    wanted = is_yes(text);
  });
  if (!answered || !wanted) return false;
  pb::Message* const part = f.is_repeated() ? message.GetReflection()->AddMessage(&message, &f)
                                            : message.GetReflection()->MutableMessage(&message, &f);
  fill_fields(*part, name + ".", depth + 1);
  return true;
}

}  // namespace coracle::tools
