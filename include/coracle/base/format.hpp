// format: status and status_code as arguments of std::format().
#pragma once

#include "coracle/base/status.hpp"

#include <string>
#include <string_view>
#include <version>

// Templates and inline functions alone, so that a library which was built as another standard serves them.
// The standard library has std::format() if the macro is defined; otherwise this header declares nothing.
#ifdef __cpp_lib_format
#include <format>

/// Formats the name of the code, such as NOT_FOUND, with the options of a text: `{:>20}`.
template <>
struct std::formatter<coracle::status_code, char> : std::formatter<std::string_view, char> {
  /// Formats name_of(code).
  template <class Context>
  typename Context::iterator format(coracle::status_code code, Context& to) const {
    return std::formatter<std::string_view, char>::format(coracle::name_of(code), to);
  }
};

/// Formats status::to_string(), such as "NOT_FOUND: no such movie", with the options of a text.
template <>
struct std::formatter<coracle::status, char> : std::formatter<std::string_view, char> {
  /// Formats s.to_string().
  template <class Context>
  typename Context::iterator format(const coracle::status& s, Context& to) const {
    const std::string text = s.to_string();
    return std::formatter<std::string_view, char>::format(text, to);
  }
};
#endif
