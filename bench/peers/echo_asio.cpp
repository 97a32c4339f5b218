// bench_echo_asio PORT BUFSIZE: the same with asio's coroutines on one thread.
#include <asio.hpp>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

using asio::ip::tcp;

asio::awaitable<void> serve(tcp::socket peer, std::size_t buffer_bytes) {
  peer.set_option(tcp::no_delay(true));
  std::vector<char> buffer(buffer_bytes);
  try {
    while (true) {
      const std::size_t got = co_await peer.async_read_some(asio::buffer(buffer), asio::use_awaitable);
      co_await asio::async_write(peer, asio::buffer(buffer.data(), got), asio::use_awaitable);
    }
  } catch (const std::system_error&) {
    co_return;
  }
}

asio::awaitable<void> listen(tcp::acceptor acceptor, std::size_t buffer_bytes) {
  while (true) {
    tcp::socket peer = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(acceptor.get_executor(), serve(std::move(peer), buffer_bytes), asio::detached);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: bench_echo_asio PORT BUFSIZE\n", stderr);
    return 2;
  }
  asio::io_context context(1);
  const auto port = static_cast<asio::ip::port_type>(std::atoi(argv[1]));
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), port});
  std::printf("listening on 127.0.0.1:%u\n", unsigned{acceptor.local_endpoint().port()});
  std::fflush(stdout);
  asio::co_spawn(context, listen(std::move(acceptor), static_cast<std::size_t>(std::atol(argv[2]))),
                 asio::detached);
  context.run();
}
