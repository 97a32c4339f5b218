// Datagrams: a server sends each one back in capitals, and a client repeats what was lost.
#include "check.hpp"

#include "coracle/runtime.hpp"

#include <array>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <string>

using namespace std::chrono_literals;
namespace net = coracle::net;

coracle::task<> answer(net::udp_socket& server) {
  std::array<std::uint8_t, 512> room{};
  for (;;) {
    const coracle::result<net::received_datagram> question = co_await server.receive_from(room);
    if (!question) co_return;  // the scope of main() was stopped
    for (std::uint8_t& c : room) c = static_cast<std::uint8_t>(std::toupper(c));
    const coracle::status sent =
        co_await server.send_to(coracle::bytes_view(room).first(question->size()), question->sender());
    check(sent.ok(), "the reply was sent");
  }
}

// Datagrams may be lost, so the client sets a limit to each wait and asks again.
coracle::task<std::string> ask(net::udp_socket& client, std::string_view question) {
  std::array<std::uint8_t, 512> room{};
  for (int attempt = 0; attempt < 5; ++attempt) {
    const coracle::status sent = co_await client.send(coracle::as_bytes(question));
    if (!sent.ok()) continue;
    const coracle::result<net::received_datagram> reply =
        co_await coracle::with_timeout(1s, client.receive_from(room));
    if (reply) co_return std::string(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(reply->size()));
  }
  co_return std::string();
}

coracle::task<> talk() {
  net::udp_socket server = net::udp_socket::bind(net::address::loopback_v4(0)).value();
  net::udp_socket client = net::udp_socket::bind(net::address::loopback_v4(0)).value();
  check(client.connect(server.local_address()).ok(), "the client has a peer");
  coracle::scope serving;
  serving.spawn(answer(server));
  const std::string reply = co_await ask(client, "a datagram");
  check(reply == "A DATAGRAM", "the reply to a datagram came back to its sender");
  serving.request_stop();
  co_await serving.join();
}

int main() {
  coracle::runtime rt;
  coracle::sync_wait(rt, talk());
}
