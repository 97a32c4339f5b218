// client_headers: writes the request headers, which are the same for every attempt of a call.
#pragma once

#include "client/call/call_attempt.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/client_observer.hpp"

#include <string>

namespace coracle::client {

// Returns "grpc-c++20-coracle/<version>".
const std::string& library_user_agent();

// previous_attempts: the number of earlier attempts under a policy (gRFC A6); 0 is not sent. more: the
// attempt if it has metadata of its own; else null. If the exchange has ended meanwhile, its handler's
// on_reset() follows. Returns an error and sends nothing if HTTP forbids one of the texts, or if the
// fields exceed what the server accepts (RFC 9113 6.5.2): it would reset the stream, or close the
// connection with the calls of others.
status send_client_headers(transport::exchange& to, const call_target& target, const call_terms& terms,
                           unsigned previous_attempts, const observed_attempt* more);

}  // namespace coracle::client
