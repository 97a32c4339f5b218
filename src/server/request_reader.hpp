// request_reader: what a request's head says, read in one pass over its fields.
#pragma once

#include "coracle/rpc/metadata.hpp"
#include "rpc/request_head.hpp"
#include "server/router.hpp"
#include "transport/exchange_handler.hpp"

namespace coracle::serving {

// Most fields of most requests repeat from call to call. What one means is left as a number with
// the HPACK table's entry (header_source::set_slot), and the next time no text is looked at.
// False when the head breaks HTTP/2's rules.
bool read_request(transport::header_source& fields, const router& routes, calls::request_head& out,
                  metadata& received);

}  // namespace coracle::serving
