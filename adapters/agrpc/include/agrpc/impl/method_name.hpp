// method_name: the names of a method, from the member function of generated code that starts or requests it.
#pragma once

#include "agrpc/impl/library.hpp"

#include <array>
#include <cstddef>
#include <string_view>

namespace agrpc::inline CORACLE_ASIO::internal {

// The qualified name of the function as the compiler writes it: "&package::Service::Stub::PrepareAsyncMethod".
template <auto Function>
constexpr std::string_view function_name() noexcept {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("Function = ") + 11);
  text = text.substr(0, text.find_first_of(";]"));
  while (!text.empty() && (text.front() == '&' || text.front() == '(' || text.front() == ' '))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ')' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

// Removes one of the prefixes.
constexpr std::string_view without_prefix(std::string_view name) noexcept {
  for (const std::string_view prefix : {"PrepareAsync", "Async", "Request"}) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return name;
}

template <auto Function>
inline constexpr std::string_view last_name =
    function_name<Function>().substr(function_name<Function>().rfind(':') + 1);

// Whether the call of a unary method waits for StartCall().
template <auto Function>
inline constexpr bool is_prepared = last_name<Function>.starts_with("PrepareAsync");

// The name of the method. A null character follows it.
template <auto Function>
class method_name_of {
  static constexpr std::string_view name() noexcept { return without_prefix(last_name<Function>); }
  static constexpr auto terminated() noexcept {
    std::array<char, name().size() + 1> out{};
    for (std::size_t i = 0; i < name().size(); ++i) out[i] = name()[i];
    return out;
  }
  static constexpr auto text = terminated();

 public:
  static constexpr std::string_view value{text.data(), text.size() - 1};
};

// "package::Service" with dots. The class in which the function is declared stands behind the service's: "Stub",
// "StubInterface" or "WithAsyncMethod_X<...>". A null character follows it.
template <auto Function>
class service_name_of {
  static constexpr std::string_view qualified() noexcept {
    std::string_view all = function_name<Function>();
    for (const std::string_view inner : {"::Stub", "::WithAsyncMethod_", "::WithRawMethod_", "::Service"}) {
      if (const auto at = all.find(inner); at != std::string_view::npos) all = all.substr(0, at);
    }
    return all;
  }
  static constexpr std::size_t colons() noexcept {
    std::size_t number = 0;
    for (const char c : qualified()) number += c == ':' ? 1 : 0;
    return number;
  }
  static constexpr auto dotted() noexcept {
    std::array<char, qualified().size() - colons() / 2 + 1> out{};
    std::size_t at = 0;
    for (std::size_t i = 0; i < qualified().size(); ++i) {
      if (qualified()[i] != ':') {
        out[at++] = qualified()[i];
      } else if (qualified()[i + 1] == ':') {
        out[at++] = '.';
      }
    }
    return out;
  }
  static constexpr auto text = dotted();

 public:
  static constexpr std::string_view value{text.data(), text.size() - 1};
};

}  // namespace agrpc::inline CORACLE_ASIO::internal
