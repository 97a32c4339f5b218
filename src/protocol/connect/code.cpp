#include "protocol/connect/code.hpp"

#include "protocol/grpc/status_headers.hpp"

#include <array>
#include <cstddef>

namespace coracle::protocol::connect {

namespace {

constexpr std::array<std::string_view, 17> code_names{
    "",          "canceled",       "unknown",           "invalid_argument",   "deadline_exceeded",
    "not_found", "already_exists", "permission_denied", "resource_exhausted", "failed_precondition",
    "aborted",   "out_of_range",   "unimplemented",     "internal",           "unavailable",
    "data_loss", "unauthenticated"};

}  // namespace

std::string_view code_name(status_code code) noexcept {
  const auto index = static_cast<std::size_t>(code);
  return index < code_names.size() ? code_names[index] : code_names[static_cast<std::size_t>(status_code::unknown)];
}

std::optional<status_code> code_named(std::string_view name) noexcept {
  for (std::size_t i = 1; i < code_names.size(); ++i)
    if (code_names[i] == name) return static_cast<status_code>(i);
  return std::nullopt;
}

status_code code_from_http_status(int http_status) noexcept { return grpc::from_http_status(http_status); }

}  // namespace coracle::protocol::connect
