// path: the rules for the path of a handover, and the texts of its failures.
#pragma once

#include "coracle/base/status.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::server_internal {

// INVALID_ARGUMENT unless a socket, and its lock, can have this path.
[[nodiscard]] status check_path(const std::string& path);
// Removes the socket of a process that no longer listens. Call it with the lock. Fails if the file is
// something else.
[[nodiscard]] status remove_stale_socket(const std::string& path);
// `error`: -errno.
[[nodiscard]] status path_failure(std::int64_t error, const std::string& path, std::string_view action);

}  // namespace coracle::server_internal
