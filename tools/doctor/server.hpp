// server: the checks of a server, from its name to its calls.
#pragma once

#include "tools/doctor/findings.hpp"
#include "tools/endpoint.hpp"

#include <coracle/net/address.hpp>

#include <optional>
#include <string>

namespace coracle::tools::doctor {

// Where the server is, and how it is to be verified.
struct server_name {
  std::string host;  // for TLS: the name that the certificate must have; empty for UNIX sockets
  std::optional<net::address> reached;  // the first address that accepts connections
};

// Resolves the name and connects to each address. Nothing is reached if there is none.
[[nodiscard]] server_name check_addresses(findings& to, const endpoint& where);
// TLS with its certificate, the first frames of HTTP/2, PINGs, and HTTP/1.1. Returns whether calls make
// sense.
[[nodiscard]] bool check_connection(findings& to, const endpoint& where, const server_name& server);
// Health, reflection, channelz, latency and compression, as a client of the library sees them.
void check_calls(findings& to, const endpoint& where);

}  // namespace coracle::tools::doctor
