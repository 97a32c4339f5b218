#include "naming/secrets.hpp"

#include "coracle/base/result.hpp"
#include "coracle/net/address.hpp"

namespace coracle::naming {

bool may_send_secret(const channel_credentials& by, std::string_view server) {
  if (!by.failure().ok() || by.secure()) return true;  // the channel reports the failure
  if (server.starts_with("unix:") || server.starts_with("localhost:")) return true;
  const result<net::address> at = net::address::parse(server);
  return at && (at->is_loopback() || !at->is_ip());
}

}  // namespace coracle::naming
