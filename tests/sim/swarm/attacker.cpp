#include "sim/swarm/attacker.hpp"

#include "support/raw_frames.hpp"

#include "echo.pb.h"

#include "coracle/coro/sleep.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/stream.hpp"

#include <chrono>
#include <utility>
#include <vector>

namespace coracle::swarm {

namespace {

using namespace std::chrono_literals;
namespace bytes = testing_support::raw_frames;
using namespace std::string_literals;

constexpr int pieces_at_once = 100;
constexpr int replies_wanted = 100;

const char* name_of(attack a) {
  constexpr const char* names[] = {"rapid reset", "pings", "continuations", "pinned replies"};
  return names[static_cast<int>(a)];
}

// The n-th attack on the server.
std::string piece(attack a, int n) {
  const int stream = 2 * n + 1;
  switch (a) {
    case attack::rapid_reset:
      return bytes::head("/echo.Echo/Collect", stream) +
             bytes::frame(bytes::rst_stream, 0, stream, "\0\0\0\x08"s);
    case attack::pings: return bytes::frame(bytes::ping, 0, 0, "12345678");
    case attack::continuations: {
      if (n > 0) return bytes::frame(bytes::continuation, 0, 1, bytes::literal("a", "b"));
      std::string open = bytes::head("/echo.Echo/Collect", stream);
      open[4] = 0;  // no END_HEADERS
      return open;
    }
    case attack::pinned_replies: break;
  }
  echo::Text large;
  large.set_count(1 << 20);
  const std::string body = large.SerializeAsString();
  return bytes::head("/echo.Echo/SayAtOnce", stream) +
         bytes::frame(bytes::data, bytes::end_stream, stream,
                      "\0\0\0\0"s + static_cast<char>(body.size()) + body);
}

// Until the server accepts no more.
task<> talk(net::stream& to, attack chosen, const bool& over) {
  std::string part = chosen == attack::pinned_replies ? bytes::greeting("\0\4\0\0\0\0"s) : bytes::greeting();
  int n = 0;
  while (!over) {
    const status put = co_await to.write(as_bytes(part));
    if (!put.ok() || (chosen == attack::pinned_replies && n >= replies_wanted)) co_return;
    part.clear();
    for (const int end = n + pieces_at_once; n < end; ++n) part += piece(chosen, n);
  }
}

task<> read_to_the_end(net::stream& from) {
  std::vector<std::uint8_t> room(4096);
  while (true) {
    const result<std::size_t> got = co_await from.read(room);
    if (!got || *got == 0) co_return;
  }
}

}  // namespace

task<> attack_until(const bool& over, run& r, attack chosen, std::string server) {
  const net::address where = net::address::parse(server).value();
  while (!over) {
    result<net::stream> s = co_await net::stream::connect(where);
    if (!s) co_return;
    r.tally(name_of(chosen));
    co_await talk(*s, chosen, over);
    if (over) co_return;
    co_await read_to_the_end(*s);
    r.tally("sent away");
    co_await sleep_for(5ms);  // sleeps on purpose: virtual time, so that a seed does not take minutes
  }
}

}  // namespace coracle::swarm
