#include "coracle/security/credentials.hpp"

#include "net/duplex.hpp"
#include "security/authority_host.hpp"

namespace coracle::security {

bool always_private(const credentials<client_security>& c) noexcept {
  return c.secure() && c.security()->always_private();
}

std::string_view scheme_of(const credentials<client_security>& c) noexcept {
  return always_private(c) ? "https" : "http";
}

std::string authority_of(const credentials<client_security>& c, std::string_view own) {
  const std::string_view name = c.secure() ? c.security()->name_override() : std::string_view();
  return std::string(name.empty() ? own : name);
}

std::unique_ptr<net::duplex> secured(const credentials<client_security>& c, loop& on,
                                     std::unique_ptr<net::duplex> raw, std::string_view authority,
                                     std::string_view application_protocol) {
  if (!c.secure()) return raw;
  return c.security()->secure(on, std::move(raw), host_of(authority), application_protocol);
}

}  // namespace coracle::security
