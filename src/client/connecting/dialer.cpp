#include "client/connecting/dialer.hpp"
#include "net/connect.hpp"
#include "net/socket_duplex.hpp"
#include "runtime/backend.hpp"

#include <utility>

namespace coracle::client {

namespace {

class address_dialer final : public dialer {
 public:
  explicit address_dialer(net::address local) : local_(std::move(local)) {}
  task<result<std::unique_ptr<net::duplex>>> dial(loop&, const endpoint& to) override {
    return net::connect_duplex(to.address(), local_);
  }

 private:
  const net::address local_;
};

}  // namespace

std::shared_ptr<dialer> make_address_dialer(net::address local) {
  return std::make_shared<address_dialer>(std::move(local));
}

namespace {

// Closes the socket unless it was taken, also when the attempt is stopped.
class connected_socket {
 public:
  connected_socket(loop& on, runtime_internal::handle h) noexcept : on_(on), handle_(h) {}
  connected_socket(const connected_socket&) = delete;
  connected_socket& operator=(const connected_socket&) = delete;
  ~connected_socket() {
    if (handle_ != runtime_internal::no_handle) on_.io().close(handle_);
  }
  [[nodiscard]] runtime_internal::handle get() const noexcept { return handle_; }
  [[nodiscard]] runtime_internal::handle take() noexcept {
    return std::exchange(handle_, runtime_internal::no_handle);
  }

 private:
  loop& on_;
  runtime_internal::handle handle_;
};

class tunnel_dialer final : public dialer {
 public:
  tunnel_dialer(tunnel through, net::address local)
      : through_(std::move(through)), local_(std::move(local)) {}

  task<result<std::unique_ptr<net::duplex>>> dial(loop& on, const endpoint& to) override {
    const result<runtime_internal::handle> connected = co_await net::connect_socket(on, to.address(), local_);
    if (!connected) {
      std::string text = "cannot connect to the proxy: ";
      co_return status::unavailable(text.append(connected.status().message()));
    }
    connected_socket socket(on, *connected);
    const status opened = co_await open_tunnel(on, socket.get(), through_);
    if (!opened.ok()) co_return opened;
    co_return net::make_socket_duplex(on, socket.take());
  }

 private:
  const tunnel through_;
  const net::address local_;
};

}  // namespace

std::shared_ptr<dialer> make_tunnel_dialer(tunnel through, net::address local) {
  return std::make_shared<tunnel_dialer>(std::move(through), std::move(local));
}

}  // namespace coracle::client
