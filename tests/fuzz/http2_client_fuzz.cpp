// A client's engine with a few open requests, against arbitrary bytes. The first byte of the input: bit 0
// puts a server's SETTINGS before the rest; the other bits, and the rest, are as in http2_server_fuzz.cpp.
#include "fuzz/http2_session.hpp"
#include "http2/frame.hpp"

using namespace coracle;
using namespace coracle::http2;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::dice input({data, size});
  const std::uint8_t mode = input.octet();
  limits l = fuzz::small_limits();
  l.keepalive.without_calls = mode & 2;
  fuzz::user user(role::client, l);
  if (mode & 1) {
    constexpr std::uint8_t settings_and_ack[] = {0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0};
    user.feed(settings_and_ack, 0);
  }
  for (const bool end : {true, false, true}) user.act(0, end);
  while (!input.empty() && !user.engine.failed()) {
    const std::uint8_t length = input.octet(), choice = input.octet(), act = input.octet(),
                       operand = input.octet();
    user.feed(input.take(length), choice);
    if (act) user.act(act, operand);
    if (mode & 4) user.send(user.engine.output().size());
  }
  return 0;
}
