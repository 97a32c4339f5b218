// error_queue: what OpenSSL has to say, as text.
#pragma once

#include <string>

namespace coracle::tls {

// The reason at the front of this thread's queue, in OpenSSL's words ("certificate has expired"), or `otherwise`.
// Empties the queue.
std::string take_error(const char* otherwise);

// Of what is at the front of OpenSSL's queue of errors, which it empties. shaking_hands: it was the handshake.
std::string failure_text(bool server, bool shaking_hands);

}  // namespace coracle::tls
