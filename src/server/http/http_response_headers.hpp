// http_response_headers: writes the headers of a response of plain HTTP.
#pragma once

#include "coracle/http/header_list.hpp"
#include "server/web/web_access.hpp"
#include "transport/exchange.hpp"

#include <cstdint>
#include <optional>

namespace coracle::server_internal {

// `length`: of the body, if it is known. `permission`: for the page of another origin that has sent the
// request, so that it can read the response; may be null. May throw std::bad_alloc, and has written nothing
// then.
void write_response_headers(transport::exchange& x, int status, const http::header_list& fields,
                            std::optional<std::uint64_t> length, const cross_origin* permission,
                            bool end_stream);

}  // namespace coracle::server_internal
