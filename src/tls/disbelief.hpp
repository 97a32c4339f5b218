// disbelief: why a peer's certificate is not believed, in a line that says the mend.
#pragma once

#include "tls/handshake_notes.hpp"
#include "tls/owned.hpp"

#include <string>

namespace coracle::tls {

// error: X509_V_ERR_...; at: the certificate at fault, may be null.
std::string disbelief_text(const handshake_notes& notes, int error, const X509* at);

}  // namespace coracle::tls
