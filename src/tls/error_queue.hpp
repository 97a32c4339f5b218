// error_queue: OpenSSL's errors as text.
#pragma once

#include <string>

namespace coracle::tls {

// Returns the first reason in this thread's queue, in OpenSSL's words ("certificate has expired"), or
// `otherwise`. Clears the queue.
std::string take_error(const char* otherwise);

// Describes the first error in OpenSSL's queue and clears the queue. shaking_hands: the error occurred in the
// handshake.
std::string failure_text(bool server, bool shaking_hands);

}  // namespace coracle::tls
