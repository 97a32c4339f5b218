// append_to_line: the text of one part of a log line.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <chrono>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace coracle::base {

// Append the text of one value to a log line.
void append_to_line(std::string& line, long long value);
void append_to_line(std::string& line, unsigned long long value);
void append_to_line(std::string& line, double value);
void append_to_line(std::string& line, std::chrono::nanoseconds value);
// Writes a duration as append_to_line() does, and returns the number of its bytes.
std::size_t write_duration(std::chrono::nanoseconds value, char (&to)[32]) noexcept;

template <class T>
void append_to_line(std::string& line, const T& part) {
  if constexpr (std::is_pointer_v<T> && std::convertible_to<const T&, std::string_view>) {
    line += part ? std::string_view(part) : std::string_view("(null)");
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    line += std::string_view(part);
  } else if constexpr (std::same_as<T, bool>) {
    line += part ? "true" : "false";
  } else if constexpr (std::same_as<T, char>) {
    line += part;
  } else if constexpr (std::signed_integral<T>) {
    append_to_line(line, static_cast<long long>(part));
  } else if constexpr (std::unsigned_integral<T>) {
    append_to_line(line, static_cast<unsigned long long>(part));
  } else if constexpr (std::floating_point<T>) {
    append_to_line(line, static_cast<double>(part));
  } else if constexpr (std::convertible_to<const T&, std::chrono::nanoseconds>) {
    append_to_line(line, std::chrono::nanoseconds(part));
  } else if constexpr (requires { std::string_view(part.to_string()); }) {
    line += std::string_view(part.to_string());
  } else if constexpr (requires { std::string_view(to_string(part)); }) {
    line += std::string_view(to_string(part));
  } else if constexpr (std::invocable<const T&>) {
    append_to_line(line, part());
  } else {
    static_assert(std::is_void_v<T>,
                  "a log line takes text, numbers, durations, functions that return one "
                  "of these, and types with to_string()");
  }
}

}  // namespace coracle::base
