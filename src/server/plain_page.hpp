// plain_page: the answers to requests that are no gRPC.
#pragma once

#include "transport/exchange.hpp"

namespace coracle::server_internal {

// GET / and HEAD /: a static page that says that this is a gRPC server. It names no services, because interceptors do not
// check it. Anything else: 404, 405, or 415 for a POST whose content-type is not one that is spoken here. Takes x over.
//
// The whole answer leaves at once, END_STREAM included: a client that streams its body may wait for it before it goes on.
// Where a body still comes, RST_STREAM(NO_ERROR) follows (RFC 9113 8.1). A request without a content-type is not reset: its
// body is dropped as it comes, and what is malformed in it is still found.
[[gnu::noinline]] void answer_plain(transport::exchange x, const request_head& request, bool end_stream);

}  // namespace coracle::server_internal
