// Both roles' engines against each other: whatever their users do, in whatever pieces the bytes travel, neither
// may find fault with the other. Three octets a round: the client's act, the server's, and how much travels.
#include "fuzz/http2_session.hpp"

#include <algorithm>
#include <vector>

using namespace coracle;
using namespace coracle::http2;

namespace {

bool broken(const fuzz::user& u) { return u.engine.failed(); }

void travel(fuzz::user& from, fuzz::user& to, std::vector<std::uint8_t>& pipe, std::uint8_t how) {
  if (how & 1) from.engine.produce(how * 64u);
  const bytes_view out = from.engine.output().pending();
  pipe.insert(pipe.end(), out.begin(), out.end());
  from.engine.output().clear();
  const std::size_t n = std::min<std::size_t>(pipe.size(), how & 2 ? pipe.size() : how / 4u);
  const std::vector<std::uint8_t> piece(pipe.begin(), pipe.begin() + static_cast<std::ptrdiff_t>(n));
  pipe.erase(pipe.begin(), pipe.begin() + static_cast<std::ptrdiff_t>(n));
  to.feed(piece, static_cast<std::uint8_t>(how * 37));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::dice input({data, size});
  limits l = fuzz::small_limits();
  // What an honest but wild user may run into is not what is looked for here.
  l.control_frames_burst = l.resets_burst = l.empty_frames_burst = 1u << 30;
  l.output_bytes = 1u << 30;
  l.settings_timeout = std::chrono::hours(1);
  fuzz::user client(role::client, l), server(role::server, l);
  std::vector<std::uint8_t> to_server, to_client;
  while (!input.empty()) {
    const std::uint8_t of_client = input.octet(), of_server = input.octet(), how = input.octet();
    if (of_client != 255) client.act(of_client);
    if (of_server != 255) server.act(of_server);
    travel(client, server, to_server, how);
    travel(server, client, to_client, static_cast<std::uint8_t>(how >> 1 | how << 7));
    fuzz::require(!broken(client) && !broken(server));
  }
  return 0;
}
