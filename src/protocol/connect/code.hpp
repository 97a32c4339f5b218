// code: Connect's spelling of the status codes, and the code of a response without an error body.
#pragma once

#include "coracle/base/status.hpp"

#include <optional>
#include <string_view>

namespace coracle::protocol::connect {

// Returns for example "not_found", and "canceled" with one l. OK has no name: the result is empty.
[[nodiscard]] std::string_view code_name(status_code code) noexcept;
// The comparison is exact. Returns nullopt for any other text, "ok" included.
[[nodiscard]] std::optional<status_code> code_named(std::string_view name) noexcept;

// The HTTP status of an error is web::to_http_status(). The reverse is for responses whose body contains no
// code ("HTTP to Error Code"); the table is gRPC's.
[[nodiscard]] status_code code_from_http_status(int http_status) noexcept;

}  // namespace coracle::protocol::connect
