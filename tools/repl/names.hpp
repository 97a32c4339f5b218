// names: completes the words of a line.
#pragma once

#include "tools/schema/session.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools {

class names {
 public:
  // `service` is the selected service, whose methods can be named without it; it may change.
  names(session& at, const std::string& service) noexcept : at_(at), service_(service) {}

  // Completes commands, packages, services, methods, types, and JSON, depending on the words before. Names
  // that the server does not reveal are not offered.
  [[nodiscard]] std::vector<std::string> fitting(std::string_view before, std::string_view word) const;

 private:
  [[nodiscard]] std::vector<std::string> services() const;
  // With a selected service its methods by their short names, and the full names of all if `word` has a dot
  // or a slash; otherwise the full names of all, and the short names that are unique.
  [[nodiscard]] std::vector<std::string> methods(std::string_view word) const;
  // Messages and enums by the last part of their names, where only one has it, and by their full names if
  // `word` has a dot or there is no such part.
  [[nodiscard]] std::vector<std::string> types(std::string_view word) const;
  // The words that complete JSON for a method. `before` is the part of the line before `word`.
  [[nodiscard]] std::vector<std::string> json(const std::string& method, std::string_view before,
                                              std::string_view word) const;
  session& at_;
  const std::string& service_;
};

}  // namespace coracle::tools
