#include "coracle/base/status.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/base/result.hpp"

#include <array>
#include <ostream>

namespace coracle {

namespace {

constexpr std::array<std::string_view, 17> code_names{
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

}  // namespace

std::string_view name_of(status_code code) noexcept {
  const auto i = static_cast<std::size_t>(code);
  return i < code_names.size() ? code_names[i] : "UNKNOWN";
}

void status::throw_error() const { throw status_error(*this); }

status::status(status_code code, std::string_view message) : status(code, message, {}) {}

status::status(status_code code, std::string_view message, std::string_view details) : code_(code) {
  if (message.empty() && details.empty()) return;
  // A call that ends because memory ran out still has a status.
  base::if_memory_allows(
      [&] { text_ = std::make_shared<const text>(text{std::string(message), std::string(details)}); });
}

std::string status::to_string() const {
  std::string out(name_of(code_));
  if (!message().empty()) out.append(": ").append(message());
  return out;
}

void base::throw_failed_result(const status& reason) {
  const std::string text =
      "dereferenced a failed result: check it first, or use value(); its status is " + reason.to_string();
  throw_usage_error(text.c_str());
}

std::ostream& operator<<(std::ostream& out, const status& s) { return out << s.to_string(); }

}  // namespace coracle
