#include "coracle/server/serve.hpp"

#include <cstdio>
#include <string>

namespace coracle::server_internal {

int serve(server& one, std::string_view address, const server_credentials& credentials) {
  if (one.listen(address, credentials).ok()) {
    std::string place(address);
    // A TCP address ends with its port, which may have been 0.
    if (one.port() != 0) place = place.substr(0, place.rfind(':') + 1) + std::to_string(one.port());
    std::printf("listening on %s\n", place.c_str());
    std::fflush(stdout);
  }
  return one.run();  // reports the failure of listen()
}

}  // namespace coracle::server_internal
