// A client's engine with a few requests out, against any bytes. The first octet of the input: bit 0 puts a
// server's SETTINGS in front of the rest; then as in http2_server_fuzz.cpp.
#include "fuzz/http2_session.hpp"

#include "http2/frame.hpp"

using namespace coracle;
using namespace coracle::http2;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::dice input({data, size});
  fuzz::user user(role::client, fuzz::small_limits());
  if (input.octet() & 1) {
    constexpr std::uint8_t settings_and_ack[] = {0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0};
    user.feed(settings_and_ack, 0);
  }
  for (const bool end : {true, false, true}) user.open(end);
  while (!input.empty() && !user.engine.failed()) {
    const std::uint8_t length = input.octet(), choice = input.octet(), act = input.octet();
    user.feed(input.take(length), choice);
    if (act) user.act(act);
    if (act & 1) user.engine.output().clear();
  }
  return 0;
}
