#include "codegen/names.hpp"

#include <google/protobuf/compiler/cpp/names.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace coracle::codegen {

namespace {

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_keyword(std::string_view word) {
  static constexpr auto keywords = std::to_array<std::string_view>({
      "alignas",     "alignof",   "and",        "and_eq",    "asm",      "auto",         "bitand",
      "bitor",       "bool",      "break",      "case",      "catch",    "char",         "char8_t",
      "char16_t",    "char32_t",  "class",      "compl",     "concept",  "const",        "consteval",
      "constexpr",   "constinit", "const_cast", "continue",  "co_await", "co_return",    "co_yield",
      "decltype",    "default",   "delete",     "do",        "double",   "dynamic_cast", "else",
      "enum",        "explicit",  "export",     "extern",    "false",    "float",        "for",
      "friend",      "goto",      "if",         "inline",    "int",      "long",         "mutable",
      "namespace",   "new",       "noexcept",   "not",       "not_eq",   "nullptr",      "operator",
      "or",          "or_eq",     "private",    "protected", "public",   "register",     "reinterpret_cast",
      "requires",    "return",    "short",      "signed",    "sizeof",   "static",       "static_assert",
      "static_cast", "struct",    "switch",     "template",  "this",     "thread_local", "throw",
      "true",        "try",       "typedef",    "typeid",    "typename", "union",        "unsigned",
      "using",       "virtual",   "void",       "volatile",  "wchar_t",  "while",        "xor",
      "xor_eq",
  });
  return contains(keywords, word);
}

// Macros that a header of the standard library or the compiler itself may have defined.
bool is_macro(std::string_view word) {
  static constexpr auto macros =
      std::to_array<std::string_view>({"EOF", "NULL", "assert", "errno", "linux", "unix"});
  return contains(macros, word);
}

// Names that the generated classes use themselves: a method of that name would be a constructor, or hide a
// member.
bool is_ours(std::string_view word) {
  static constexpr auto ours = std::to_array<std::string_view>(
      {"added_to", "channel_", "draining", "full_name", "methods", "service", "stub"});
  return contains(ours, word);
}

// `taken` says whether a sibling has a name.
template <class Taken>
std::string escaped(std::string name, Taken taken) {
  if (!is_keyword(name) && !is_macro(name) && !is_ours(name)) return name;
  do name += '_';
  while (is_ours(name) || taken(name));
  return name;
}

bool is_identifier(std::string_view word) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !word.empty() && !is_digit(word.front()) &&
         std::all_of(word.begin(), word.end(), [&](char c) { return is_letter(c) || is_digit(c); });
}

}  // namespace

std::string concat(std::initializer_list<std::string_view> parts) {
  std::string whole;
  for (const std::string_view part : parts) whole += part;
  return whole;
}

std::string message_class(const google::protobuf::Descriptor& message) {
  return google::protobuf::compiler::cpp::QualifiedClassName(&message);
}

std::string enum_class(const google::protobuf::EnumDescriptor& choices) {
  return google::protobuf::compiler::cpp::QualifiedClassName(&choices);
}

namespace {

void add_declared(std::vector<std::string>& to, const google::protobuf::EnumDescriptor& choices) {
  const std::string name = google::protobuf::compiler::cpp::ClassName(&choices);
  to.push_back(name);
  for (const char* function : {"_IsValid", "_Name", "_Parse"}) to.push_back(concat({name, function}));
  if (choices.file()->options().optimize_for() != google::protobuf::FileOptions::LITE_RUNTIME)
    to.push_back(concat({name, "_descriptor"}));
  const std::string prefix = choices.containing_type() ? concat({name, "_"}) : std::string();
  for (int i = 0; i < choices.value_count(); ++i)
    to.push_back(concat({prefix, google::protobuf::compiler::cpp::EnumValueName(choices.value(i))}));
}

void add_declared(std::vector<std::string>& to, const google::protobuf::Descriptor& message) {
  if (message.options().map_entry()) return;
  to.push_back(google::protobuf::compiler::cpp::ClassName(&message));
  for (int i = 0; i < message.nested_type_count(); ++i) add_declared(to, *message.nested_type(i));
  for (int i = 0; i < message.enum_type_count(); ++i) add_declared(to, *message.enum_type(i));
}

}  // namespace

std::vector<std::string> declared_names(const google::protobuf::FileDescriptor& file) {
  std::vector<std::string> names;
  for (int i = 0; i < file.message_type_count(); ++i) add_declared(names, *file.message_type(i));
  for (int i = 0; i < file.enum_type_count(); ++i) add_declared(names, *file.enum_type(i));
  return names;
}

std::string service_class(const google::protobuf::ServiceDescriptor& service) {
  const auto& file = *service.file();
  return escaped(std::string(service.name()),
                 [&](const std::string& name) { return file.FindServiceByName(name) != nullptr; });
}

std::string method_name(const google::protobuf::MethodDescriptor& method) {
  const auto& service = *method.service();
  return escaped(std::string(method.name()),
                 [&](const std::string& name) { return service.FindMethodByName(name) != nullptr; });
}

std::string package_namespace(std::string_view package) {
  std::string whole;
  while (!package.empty()) {
    const auto length = std::min(package.find('.'), package.size());
    const std::string_view part = package.substr(0, length);
    if (!whole.empty()) whole += "::";
    whole += part;
    if (is_keyword(part)) whole += '_';
    package.remove_prefix(std::min(length + 1, package.size()));
  }
  return whole;
}

std::string fake_class(const google::protobuf::ServiceDescriptor& service, const std::string& service_class) {
  const auto taken = [&](const std::string& name) {
    return service.file()->FindServiceByName(name) || service.FindMethodByName(name);
  };
  std::string name = concat({service_class, "Fake"});
  while (taken(name)) name += '_';
  return name;
}

std::string fake_group(const google::protobuf::ServiceDescriptor& service) {
  std::string name = "on";
  while (service.FindMethodByName(name)) name += '_';
  return name;
}

namespace {

// Whether `fits` is true for every part of `text` between separators.
template <class Fits>
bool all_parts(std::string_view text, std::string_view separator, Fits fits) {
  for (;;) {
    const auto length = std::min(text.find(separator), text.size());
    if (!fits(text.substr(0, length))) return false;
    if (length == text.size()) return true;
    text.remove_prefix(length + separator.size());
  }
}

}  // namespace

bool is_namespace_name(std::string_view text) {
  return all_parts(text,
                   "::", [](std::string_view part) { return is_identifier(part) && !is_keyword(part); });
}

bool is_package_name(std::string_view text) { return all_parts(text, ".", is_identifier); }

bool is_module_name(std::string_view text) {
  const auto is_name = [](std::string_view name) {
    return all_parts(name, ".", [](std::string_view part) {
      return is_identifier(part) && !is_keyword(part) && part != "module" && part != "import";
    });
  };
  const std::size_t colon = std::min(text.find(':'), text.size());
  return is_name(text.substr(0, colon)) && (colon == text.size() || is_name(text.substr(colon + 1)));
}

std::string literal(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  quoted += '"';
  return quoted;
}

}  // namespace coracle::codegen
