// names: what the words of a line may become, for completion.
#pragma once

#include "tools/schema/session.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools {

class names {
 public:
  // service: the one whose methods go by their names alone; may change.
  names(session& at, const std::string& service) noexcept : at_(at), service_(service) {}

  // Commands, packages, services, methods, messages, and fields in JSON, as the words before want it. What the server does
  // not tell is not offered.
  [[nodiscard]] std::vector<std::string> fitting(std::string_view before, std::string_view word) const;

 private:
  [[nodiscard]] std::vector<std::string> services() const;
  // By all of their names, and by their own where only one has it or the service is chosen.
  [[nodiscard]] std::vector<std::string> methods() const;
  [[nodiscard]] std::vector<std::string> messages() const;
  [[nodiscard]] std::vector<std::string> fields(const std::string& method, std::string_view word) const;
  session& at_;
  const std::string& service_;
};

}  // namespace coracle::tools
