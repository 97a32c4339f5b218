// refuse(): ends a call that reaches no handler.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/compress/encoding.hpp"
#include "server/admission/rejection.hpp"
#include "server/call/call_request.hpp"
#include "transport/exchange.hpp"

#include <optional>

namespace coracle::server_internal {

// Sends a Trailers-Only response. accepted: the encodings that the server accepts, if that of the request is
// none of them.
void refuse(transport::exchange x, const call_request& request, const status& reason,
            encoding_set accepted = encoding_set::all());
// The same for a call that a limit rejects. For gRPC it allocates nothing in steady state. retry_ms: the
// pushback of gRFC A6.
void refuse(transport::exchange x, const call_request& request, const rejection& r,
            std::optional<int> retry_ms);

}  // namespace coracle::server_internal
