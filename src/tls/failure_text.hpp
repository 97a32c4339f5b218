// failure_text: why TLS failed, in a line that says the mend where there is one.
#pragma once

#include <string>

namespace coracle::tls {

// Of what is at the front of OpenSSL's queue of errors, which it empties. shaking_hands: it was the handshake.
std::string failure_text(bool server, bool shaking_hands);

}  // namespace coracle::tls
