// plain_page: the answers to requests that are no gRPC.
#pragma once

#include "server/request_reader.hpp"
#include "server/router.hpp"
#include "transport/exchange.hpp"

namespace coracle::serving {

// GET /: a small page that says what answers here. Anything else: 404, 405, or 415 for a POST whose
// content-type is not one that is spoken here. Answers and releases x.
void answer_plain(transport::exchange x, const request_summary& request, const router& routes);

}  // namespace coracle::serving
