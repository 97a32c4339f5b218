// Plaintext or TLS, as the command line says.
#pragma once

#include "../command_line.hpp"

#include <coracle/security/credentials.hpp>
#include <coracle/tls/client_options.hpp>
#include <coracle/tls/server_options.hpp>

namespace examples {

// --cert F --key F [--client-ca F]
inline coracle::server_credentials server_credentials_of(const command_line& line) {
  const auto certificate = line.option("cert"), key = line.option("key"), clients = line.option("client-ca");
  if (!certificate && !key && !clients) return coracle::insecure();
  if (!certificate || !key) throw usage_error("TLS needs both --cert and --key");
  coracle::tls::server_options tls;
  tls.certificates = {coracle::tls::key_pair::files(*certificate, *key)};
  // Only clients with a certificate of this CA may call.
  if (clients) tls.client_cas = {coracle::tls::pem_source::file(*clients)};
  return tls;
}

// [--ca F [--cert F --key F]]
inline coracle::channel_credentials channel_credentials_of(const command_line& line) {
  const auto ca = line.option("ca"), certificate = line.option("cert"), key = line.option("key");
  if (!ca) return coracle::insecure();
  coracle::tls::client_options tls;
  tls.cas = {coracle::tls::pem_source::file(*ca)};
  if (certificate && key) tls.certificate = coracle::tls::key_pair::files(*certificate, *key);
  return tls;
}

}  // namespace examples
