// rest_error: an error of HTTP in the form of REST, for requests that reach no method.
#pragma once

#include "coracle/rpc/metadata.hpp"
#include "server/router.hpp"
#include "server/web/direct_response.hpp"

namespace coracle::server_internal {

// Whether a request that has reached no method may be one of REST: it belongs to no protocol of RPC, by its
// content-type, its path, or the fields and parameters of Connect.
[[nodiscard]] bool may_be_rest(const request_info& r, const metadata& fields, const router& routes);

// Writes an error as google.rpc.Status in JSON, like the errors of methods, unless the client prefers text:
// browsers name text/html, programs send "*/*", or no Accept at all. Leaves other responses unchanged.
void use_rest_form(direct_response& response, const metadata& fields);

}  // namespace coracle::server_internal
