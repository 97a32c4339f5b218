#include "client/connecting/dialer.hpp"

#include "coracle/coro/environment.hpp"
#include "net/connect.hpp"
#include "net/happy_eyeballs.hpp"
#include "net/socket_duplex.hpp"
#include "runtime/backend.hpp"

#include <string>
#include <utility>
#include <vector>

namespace coracle::client {

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

using dialed = result<std::unique_ptr<net::duplex>>;

// All of them must outlive it.
task<dialed> dial_tunnel(loop& on, const net::address& proxy, const net::address& local, const tunnel& t) {
  const result<runtime_internal::handle> connected = co_await net::connect_socket(on, proxy, local);
  if (!connected) {
    std::string text = "cannot connect to the proxy: ";
    co_return status::unavailable(text.append(connected.status().message()));
  }
  connected_socket socket(on, *connected);
  const status opened = co_await open_tunnel(on, socket.get(), t);
  if (!opened.ok()) co_return opened;
  co_return net::make_socket_duplex(on, socket.take());
}

class address_dialer final : public dialer {
 public:
  explicit address_dialer(net::address local) : local_(std::move(local)) {}
  task<dialed> dial(loop& on, const endpoint& to) override {
    if (!to.other_addresses().empty()) return dial_first(on, to);
    return net::connect_duplex(to.address(), local_);
  }
  // One address after the other: the proxy answers when it has the connection.
  task<dialed> dial_through(loop& on, const net::address& proxy, const endpoint& to) override {
    std::vector<net::address> all{to.address()};
    all.insert(all.end(), to.other_addresses().begin(), to.other_addresses().end());
    dialed last = status::unavailable("the server has no address");
    for (const net::address& each : all) {
      const tunnel t{each.to_string(), {}};
      last = co_await dial_tunnel(on, proxy, local_, t);
      if (last) break;
    }
    co_return last;
  }

 private:
  // gRFC A61: the first address that answers.
  task<dialed> dial_first(loop& on, const endpoint& to) {
    std::vector<net::address> all{to.address()};
    all.insert(all.end(), to.other_addresses().begin(), to.other_addresses().end());
    net::happy_eyeballs attempts(on, co_await coro::this_environment(), local_);
    std::vector<net::address> order = net::interleaved(std::move(all));
    const result<runtime_internal::handle> connected = co_await attempts.connect(std::move(order));
    if (!connected) co_return connected.status();
    co_return net::make_socket_duplex(on, *connected);
  }

  const net::address local_;
};

}  // namespace

std::shared_ptr<dialer> make_address_dialer(net::address local) {
  return std::make_shared<address_dialer>(std::move(local));
}

namespace {

class tunnel_dialer final : public dialer {
 public:
  tunnel_dialer(tunnel through, net::address local)
      : through_(std::move(through)), local_(std::move(local)) {}

  task<dialed> dial(loop& on, const endpoint& to) override {
    return dial_tunnel(on, to.address(), local_, through_);
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
