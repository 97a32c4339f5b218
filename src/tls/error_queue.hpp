// error_queue: what OpenSSL has to say, as text.
#pragma once

#include <string>

namespace coracle::tls {

// The reason at the front of this thread's queue, in OpenSSL's words ("certificate has expired"), or `otherwise`.
// Empties the queue.
std::string take_error(const char* otherwise);

}  // namespace coracle::tls
