// echo_server: sends every connection's bytes back to it, until SIGINT or SIGTERM.
#include "../command_line.hpp"

#include <coracle/runtime.hpp>

#include <array>
#include <cstdio>

namespace {

namespace net = coracle::net;
using coracle::task;

// --8<-- [start:connection]
task<> echo(net::stream peer) {
  std::array<std::uint8_t, 16 * 1024> buffer;  // lives in the coroutine's frame
  for (;;) {
    const coracle::result<std::size_t> n = co_await peer.read(buffer);
    if (!n || *n == 0) break;  // it broke, or the peer is done
    const coracle::status sent = co_await peer.write(coracle::bytes_view(buffer).first(*n));
    if (!sent.ok()) break;
  }
}
// --8<-- [end:connection]

task<> accept_all(net::listener& listener, coracle::scope& connections) {
  for (;;) {
    coracle::result<net::stream> next = co_await listener.accept();
    if (!next) break;  // stopped: accept() itself retries after transient errors
    connections.spawn(echo(*std::move(next)));
  }
}

task<> serve(std::uint16_t port) {
  net::signal_watch signals = net::signal_watch::open().value();
  net::listener listener = net::listener::open(net::address::loopback_v4(port)).value();
  std::printf("listening on %s\n", listener.local_address().to_string().c_str());
  std::fflush(stdout);
  coracle::scope connections;
  connections.spawn(accept_all(listener, connections));
  const coracle::result<coracle::process_signal> signal = co_await signals.next();
  connections
      .request_stop();  // every read, write and accept ends now, and each frame is gone before join() is
  co_await connections.join();
  co_await listener.close();
  std::printf("ended by %s\n", signal.ok() ? "a signal" : "the runtime");
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("echo_server", [&] {
    const examples::command_line line(argc, argv, "--port=PORT");
    coracle::runtime loops;
    coracle::sync_wait(loops, serve(line.port("port")));
    return 0;
  });
}
