// The modules of the other libraries.
#include <string>

import coracle.console;
import coracle.telemetry;
import coracle.tls;

int main() {
  coracle::tls::client_options options;
  options.cas.push_back(coracle::tls::pem_source::file("no such file"));
  if (options.build().ok()) return 1;
  coracle::runtime runtime;
  coracle::server server(runtime);
  coracle::with_console(server);
  coracle::with_metrics(server);
  return server.listen("127.0.0.1:0", coracle::insecure()).ok() ? 0 : 1;
}
