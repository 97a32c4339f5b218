// A user's program with TLS: coracle::tls brings everything that it needs.
#include "coracle/tls/client_options.hpp"
#include "coracle/tls/server_options.hpp"

int main() {
  coracle::tls::client_options credentials;
  credentials.cas.push_back(coracle::tls::pem_source::file("no such file"));
  const bool trusted = credentials.build().ok();
  coracle::tls::server_options credentials_2;
  credentials_2.certificates.push_back(coracle::tls::key_pair::files("no", "such"));
  const bool served = credentials_2.build().ok();
  return trusted || served ? 1 : 0;
}
