// audit_loggers: makes the audit loggers that policies name.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/server/audit_logger.hpp"

#include <memory>
#include <string_view>

namespace coracle::server_internal {

// The name of the logger that the library provides.
inline constexpr std::string_view stdout_logger_name = "stdout_logger";

// `config` is an object of JSON. Null if there is no logger of that name; else fails as its factory does.
[[nodiscard]] result<std::shared_ptr<audit_logger>> make_audit_logger(std::string_view name,
                                                                      std::string_view config);

}  // namespace coracle::server_internal
