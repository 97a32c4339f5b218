// A user's program with TLS: coracle::tls brings everything that it needs.
#include "coracle/tls/client_options.hpp"
#include "coracle/tls/server_options.hpp"

int main() {
  const bool trusted = coracle::tls::client_options().ca_file("no such file").build().ok();
  const bool served = coracle::tls::server_options().certificate_files("no", "such").build().ok();
  return trusted || served ? 1 : 0;
}
