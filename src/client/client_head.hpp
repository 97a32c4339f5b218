// client_head: a request's head on the wire, the same for every attempt of a call.
#pragma once

#include "client/call_attempt.hpp"

#include <string>

namespace coracle::client {

// "grpc-c++20-coracle/<version>"
const std::string& library_user_agent();

// previous_attempts: how often a policy has tried before (gRFC A6); 0 is not sent. more: of this attempt alone, may be
// null. False when the exchange has ended meanwhile: its handler's on_reset() follows.
bool send_client_head(transport::exchange& to, const call_target& target, const call_terms& terms,
                      unsigned previous_attempts, const coracle::metadata* more);

}  // namespace coracle::client
