// bench_echo PORT BUFSIZE: TCP echo on 127.0.0.1 and one loop, through the public API.
// It prints the port that it listens on: PORT may be 0.
#include <coracle/runtime.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace net = coracle::net;

coracle::task<> serve(net::stream peer, std::size_t buffer_bytes) {
  std::vector<std::uint8_t> buffer(buffer_bytes);
  while (true) {
    const coracle::result<std::size_t> got = co_await peer.read(buffer);
    if (!got || *got == 0) co_return;
    const coracle::bytes_view reply(buffer.data(), *got);
    const coracle::status put = co_await peer.write(reply);
    if (!put.ok()) co_return;
  }
}

coracle::task<> listen(std::string at, std::size_t buffer_bytes) {
  const net::address local = net::address::parse(at).value();
  net::listener opened = net::listener::open(local).value();
  std::printf("listening on %s\n", opened.local_address().to_string().c_str());
  std::fflush(stdout);
  coracle::scope connections(co_await coracle::coro::this_environment());
  while (true) {
    coracle::result<net::stream> peer = co_await opened.accept();
    if (!peer) break;
    connections.spawn(serve(*std::move(peer), buffer_bytes));
  }
  co_await connections.join();
}

}  // namespace

int main(int argc, char** argv) {
  const long buffer_bytes = argc == 3 ? std::atol(argv[2]) : 0;
  if (buffer_bytes <= 0) {
    std::fputs("usage: bench_echo PORT BUFSIZE\n", stderr);
    return 2;
  }
  try {
    coracle::runtime rt;
    rt.spawn(listen(std::string("127.0.0.1:") + argv[1], static_cast<std::size_t>(buffer_bytes)));
    rt.run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_echo: %s\n", e.what());
    return 1;
  }
  return 0;
}
