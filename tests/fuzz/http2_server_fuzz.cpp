// A server's engine against arbitrary bytes. The first byte of the input: bit 0 puts a client's preface
// before the rest, bit 1 applies keepalive and the rules for PINGs without calls, bit 2 sends the output
// after each step. Then come pieces, each after four bytes: its length, the user's choices at its events, and
// an operation of the user with its operand.
#include "fuzz/http2_session.hpp"
#include "http2/frame.hpp"

using namespace coracle;
using namespace coracle::http2;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::dice input({data, size});
  const std::uint8_t mode = input.octet();
  limits l = fuzz::small_limits();
  l.keepalive.without_calls = l.pings.without_calls = mode & 2;
  fuzz::user user(role::server, l);
  if (mode & 1) {
    user.feed(as_bytes(client_preface), 0);
    constexpr std::uint8_t settings_and_ack[] = {0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0};
    user.feed(settings_and_ack, 0);
  }
  while (!input.empty() && !user.engine.failed()) {
    const std::uint8_t length = input.octet(), choice = input.octet(), act = input.octet(),
                       operand = input.octet();
    user.feed(input.take(length), choice);
    if (act) user.act(act, operand);
    if (mode & 4) user.send(user.engine.output().size());
  }
  return 0;
}
