// The engines of both roles against each other: for any operations of their users, and any pieces in which
// the bytes arrive, neither reports an error of the other, and DATA arrives as it was sent. Five bytes per
// round: the client's operation and the server's, each with its operand, and the number of transferred bytes.
#include "fuzz/http2_session.hpp"

#include <algorithm>
#include <vector>

using namespace coracle;
using namespace coracle::http2;

namespace {

bool broken(const fuzz::user& u) { return u.engine.failed(); }

void travel(fuzz::user& from, fuzz::user& to, std::vector<std::uint8_t>& pipe, std::uint8_t choice) {
  if (choice & 1) from.engine.produce(choice * 64u);
  const bytes_view out = from.engine.output().pending();
  pipe.insert(pipe.end(), out.begin(), out.end());
  from.send(out.size());
  const std::size_t n = std::min<std::size_t>(pipe.size(), choice & 2 ? pipe.size() : choice / 4u);
  const std::vector<std::uint8_t> piece(pipe.begin(), pipe.begin() + static_cast<std::ptrdiff_t>(n));
  pipe.erase(pipe.begin(), pipe.begin() + static_cast<std::ptrdiff_t>(n));
  to.feed(piece, static_cast<std::uint8_t>(choice * 37));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::dice input({data, size});
  limits l = fuzz::small_limits();
  // A correct user may exceed these, which is not an error of the engines.
  l.control_frames_burst = l.resets_burst = l.early_resets_burst = l.empty_frames_burst = 1u << 30;
  l.output_bytes = l.header_block_bytes = 1u << 30;
  l.continuations = 16;
  l.settings_timeout = l.header_timeout = duration::max();
  l.keepalive = {};
  l.pings = {};
  fuzz::user client(role::client, l, fuzz::peer_kind::user), server(role::server, l, fuzz::peer_kind::user);
  std::vector<std::uint8_t> to_server, to_client;
  while (!input.empty()) {
    const std::uint8_t of_client = input.octet(), client_operand = input.octet(), of_server = input.octet(),
                       server_operand = input.octet(), how = input.octet();
    // The output is transferred below, and deliberate failures are not tested here.
    const auto act = [](fuzz::user& u, std::uint8_t value, std::uint8_t operand) {
      if ((value & 31) != 15 && (value & 31) != 21) u.act(value, operand);
    };
    act(client, of_client, client_operand);
    act(server, of_server, server_operand);
    travel(client, server, to_server, how);
    travel(server, client, to_client, static_cast<std::uint8_t>(how >> 1 | how << 7));
    fuzz::require(!broken(client) && !broken(server));
  }
  return 0;
}
