// A server's engine against any bytes. The first octet of the input: bit 0 puts a client's preface in front of
// the rest; then come pieces, each behind its length, a choice for the user, and an act of the user's.
#include "fuzz/http2_session.hpp"

#include "http2/frame.hpp"

using namespace coracle;
using namespace coracle::http2;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::dice input({data, size});
  fuzz::user user(role::server, fuzz::small_limits());
  if (input.octet() & 1) {
    user.feed(as_bytes(client_preface), 0);
    constexpr std::uint8_t settings_and_ack[] = {0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0};
    user.feed(settings_and_ack, 0);
  }
  while (!input.empty() && !user.engine.failed()) {
    const std::uint8_t length = input.octet(), choice = input.octet(), act = input.octet();
    user.feed(input.take(length), choice);
    if (act) user.act(act);
    if (act & 1) user.engine.output().clear();
  }
  return 0;
}
