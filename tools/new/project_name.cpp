#include "tools/new/project_name.hpp"

#include "tools/failure.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>

namespace coracle::tools {

namespace {

bool is_lower_letter(char c) { return c >= 'a' && c <= 'z'; }
bool is_name_digit(char c) { return c >= '0' && c <= '9'; }
bool is_separator(char c) { return c == '-' || c == '_'; }

bool is_name(std::string_view word) {
  if (word.empty() || !is_lower_letter(word.front()) || is_separator(word.back())) return false;
  for (std::size_t i = 1; i < word.size(); ++i) {
    if (!is_lower_letter(word[i]) && !is_name_digit(word[i]) && !is_separator(word[i])) return false;
    // C++ reserves names with two consecutive underscores.
    if (is_separator(word[i]) && is_separator(word[i - 1])) return false;
  }
  return true;
}

bool is_keyword(std::string_view word) {
  static constexpr auto words = std::to_array<std::string_view>({
      "alignas",     "alignof",  "and",        "and_eq",    "asm",       "auto",         "bitand",
      "bitor",       "bool",     "break",      "case",      "catch",     "char",         "char8_t",
      "char16_t",    "char32_t", "class",      "co_await",  "co_return", "co_yield",     "compl",
      "concept",     "const",    "const_cast", "consteval", "constexpr", "constinit",    "continue",
      "decltype",    "default",  "delete",     "do",        "double",    "dynamic_cast", "else",
      "enum",        "explicit", "export",     "extern",    "false",     "float",        "for",
      "friend",      "goto",     "if",         "inline",    "int",       "long",         "mutable",
      "namespace",   "new",      "noexcept",   "not",       "not_eq",    "nullptr",      "operator",
      "or",          "or_eq",    "private",    "protected", "public",    "register",     "reinterpret_cast",
      "requires",    "return",   "short",      "signed",    "sizeof",    "static",       "static_assert",
      "static_cast", "struct",   "switch",     "template",  "this",      "thread_local", "throw",
      "true",        "try",      "typedef",    "typeid",    "typename",  "union",        "unsigned",
      "using",       "virtual",  "void",       "volatile",  "wchar_t",   "while",        "xor",
      "xor_eq",
  });
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Namespaces and macros of the headers that every project of this kind includes.
bool is_in_use(std::string_view word) {
  static constexpr auto words = std::to_array<std::string_view>({
      "abi",
      "assert",
      "coracle",
      "errno",
      "google",
      "i386",
      "linux",
      "main",
      "std",
      "tm",
      "unix",
  });
  return word.ends_with("_t") || std::find(words.begin(), words.end(), word) != words.end();
}

// The functions of the C library are in the global namespace, where their names cannot be reused. There are
// more than a thousand of them, so this looks the name up in the library itself.
bool is_function_of_c(const std::string& word) {
  for (const char* library : {"libc.so.6", "libm.so.6"}) {
    void* loaded = ::dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!loaded) continue;  // another C library: the compiler will report a clash
    const bool found = ::dlsym(loaded, word.c_str()) != nullptr;
    ::dlclose(loaded);
    if (found) return true;
  }
  return false;
}

std::string replaced(std::string text, std::string_view placeholder, std::string_view name) {
  for (auto at = text.find(placeholder); at != text.npos; at = text.find(placeholder, at + name.size()))
    text.replace(at, placeholder.size(), name);
  return text;
}

}  // namespace

project_name::project_name(const std::filesystem::path& folder)
    : of_folder((folder.has_filename() ? folder : folder.parent_path()).filename().string()),
      in_code(replaced(of_folder, "-", "_")) {
  if (!is_name(of_folder))
    throw usage_failure(
        "'" + of_folder +
        "' cannot be a project's name: it must begin with a lower-case letter, followed by lower-case "
        "letters, digits and single hyphens or underscores between them, as in movie-shop");
  if (is_keyword(in_code) || is_in_use(in_code) || is_function_of_c(in_code))
    throw usage_failure(
        "'" + in_code +
        "' cannot be a project's name: it becomes a C++ namespace, and C++ or its libraries have "
        "something of "
        "that name; choose a longer one, as in " +
        of_folder + "-service");
}

std::string project_name::put_into(std::string_view text) const {
  return replaced(replaced(std::string(text), "project_name", in_code), "project-name", of_folder);
}

}  // namespace coracle::tools
