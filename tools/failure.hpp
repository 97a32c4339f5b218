// failure: exceptions that end a command; their text says what was wrong and what to do.
#pragma once

#include "tools/exit_codes.hpp"

#include <coracle/base/status.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace coracle::tools {

class failure : public std::runtime_error {
 public:
  // `hint`: what the user may try; may be empty.
  explicit failure(const std::string& text, std::string hint = {})
      : std::runtime_error(text), hint_(std::move(hint)) {}
  [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

 private:
  std::string hint_;
};

// For a command line that is well formed but invalid.
class usage_failure : public failure {
 public:
  using failure::failure;
};

// For a call that the command needs before its actual work. The program exits with the call's status code.
class call_failure : public failure {
 public:
  call_failure(status_code code, const std::string& text, std::string hint = {})
      : failure(text, std::move(hint)), code_(code) {}
  [[nodiscard]] int exit_code() const noexcept { return static_cast<int>(code_); }

 private:
  status_code code_;
};

}  // namespace coracle::tools
