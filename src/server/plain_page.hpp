// plain_page: the answers to requests that are no gRPC.
#pragma once

#include "server/request_reader.hpp"
#include "transport/exchange.hpp"

namespace coracle::serving {

// GET /: a small page that says that gRPC answers here, and nothing of what: it passes no interceptor. Anything else: 404, 405, or 415 for a POST whose
// content-type is not one that is spoken here. Takes x over. The answer leaves when the request has ended:
// whatever is wrong with the rest of a request is found before it was answered. A body is dropped as it comes.
void answer_plain(transport::exchange x, const request_summary& request, bool end_stream);

}  // namespace coracle::serving
