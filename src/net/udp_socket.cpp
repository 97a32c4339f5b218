#include "coracle/net/udp_socket.hpp"

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/connect.hpp"
#include "net/io_error.hpp"
#include "net/io_wait.hpp"
#include "net/raw_address.hpp"
#include "runtime/backend.hpp"

#include <string>

namespace coracle::net {

// Owns the handle. The flags detect two concurrent operations of one direction, and a close during an
// operation.
class open_socket {
 public:
  open_socket(loop& owner_loop, runtime_internal::handle handle) noexcept : on(owner_loop), socket(handle) {}
  open_socket(const open_socket&) = delete;
  open_socket& operator=(const open_socket&) = delete;
  ~open_socket() {
    CORACLE_ASSERT(
        !receiving && !sending,
        "a udp_socket was closed or destroyed while a task waits for it: stop and join the task first");
    on.io().close(socket);
  }

  loop& on;
  const runtime_internal::handle socket;
  bool receiving = false;
  bool sending = false;
};

namespace {

open_socket& checked(const std::unique_ptr<open_socket>& s) {
  CORACLE_REQUIRE(s, "this udp_socket is closed, or was moved from");
  return *s;
}

// A null `to` means the peer that connect() has set.
task<status> send_one(open_socket& s, bytes_view datagram, const runtime_internal::raw_address* to) {
  const in_use held(s.sending, "concurrent sends on one udp_socket: await one send before the next");
  const runtime_internal::operation::piece whole{datagram.data(), datagram.size()};
  io_wait sending(s.on, runtime_internal::operation::kind::send_to, s.socket);
  sending.pieces = &whole;
  sending.piece_count = 1;
  sending.address = to;
  const std::int64_t sent = co_await sending;
  if (sent >= 0) co_return status();
  if (!sending.ended_early().ok()) co_return sending.ended_early();
  co_return datagram_error(sent, "sending a datagram of " + std::to_string(datagram.size()) + " bytes");
}

status too_large(std::size_t size, std::size_t room, const address& sender) {
  return status::resource_exhausted("a datagram of " + std::to_string(size) + " bytes from " +
                                    sender.to_string() + " was dropped: the buffer has " +
                                    std::to_string(room) + " bytes; pass a larger one");
}

}  // namespace

udp_socket::udp_socket() noexcept = default;
udp_socket::udp_socket(std::unique_ptr<open_socket> opened) noexcept : socket_(std::move(opened)) {}
udp_socket::udp_socket(udp_socket&&) noexcept = default;
udp_socket& udp_socket::operator=(udp_socket&&) noexcept = default;
udp_socket::~udp_socket() = default;

result<udp_socket> udp_socket::bind(const address& at, const udp_options& options) {
  if (!at.is_ip()) return status::invalid_argument("UDP requires an IP address, not " + at.to_string());
  loop& on = current_loop();
  runtime_internal::listen_options listen_settings;
  listen_settings.reuse_port = options.reuse_port;
  listen_settings.only_ipv6 = options.only_ipv6;
  const std::int64_t opened = on.io().open_datagram(to_raw(at), listen_settings);
  if (opened < 0) return listen_error(opened, at);
  return udp_socket(std::make_unique<open_socket>(on, static_cast<runtime_internal::handle>(opened)));
}

status udp_socket::connect(const address& peer) {
  const open_socket& s = checked(socket_);
  if (!peer.is_ip()) return status::invalid_argument("UDP requires an IP address, not " + peer.to_string());
  const std::int64_t outcome = s.on.io().connect_datagram(s.socket, to_raw(peer));
  return outcome < 0 ? connect_error(outcome, peer) : status();
}

task<status> udp_socket::send_to(bytes_view datagram, address to) {
  open_socket& s = checked(socket_);
  if (!to.is_ip()) co_return status::invalid_argument("UDP requires an IP address, not " + to.to_string());
  const runtime_internal::raw_address raw = to_raw(to);
  co_return co_await send_one(s, datagram, &raw);
}

task<status> udp_socket::send(bytes_view datagram) { return send_one(checked(socket_), datagram, nullptr); }

task<result<received_datagram>> udp_socket::receive_from(mutable_bytes into) {
  open_socket& s = checked(socket_);
  const in_use held(s.receiving, "concurrent receives on one udp_socket: await one receive before the next");
  runtime_internal::raw_address raw;
  io_wait receiving(s.on, runtime_internal::operation::kind::receive_from, s.socket);
  receiving.into = into;
  receiving.sender = &raw;
  const std::int64_t got = co_await receiving;
  if (got < 0) {
    if (!receiving.ended_early().ok()) co_return receiving.ended_early();
    co_return datagram_error(got, "receiving a datagram");
  }
  const auto size = static_cast<std::size_t>(got);
  address sender = from_raw(raw);
  if (size > into.size()) co_return too_large(size, into.size(), sender);
  co_return received_datagram(size, std::move(sender));
}

void udp_socket::close() noexcept { socket_.reset(); }

address udp_socket::local_address() const {
  const open_socket& s = checked(socket_);
  runtime_internal::raw_address raw;
  return s.on.io().local_address(s.socket, raw) < 0 ? address() : from_raw(raw);
}

}  // namespace coracle::net
