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

std::vector<net::address> addresses_of(const endpoint& to) {
  std::vector<net::address> all{to.address()};
  all.insert(all.end(), to.other_addresses().begin(), to.other_addresses().end());
  return net::interleaved(std::move(all));
}

// gRFC A61: to the first address that answers.
class direct_dial final : public dial_in_progress {
 public:
  direct_dial(loop& on, const coro::environment& here, const net::address& local, dial_in_progress*& shown)
      : attempts_(on, here, local), shown_(shown) {
    shown_ = this;
  }
  direct_dial(const direct_dial&) = delete;
  direct_dial& operator=(const direct_dial&) = delete;
  ~direct_dial() { shown_ = nullptr; }

  [[nodiscard]] task<result<runtime_internal::handle>> connect(const endpoint& to) {
    return attempts_.connect(addresses_of(to));
  }
  bool change_to(const endpoint& now) override { return attempts_.change_to(addresses_of(now)); }

 private:
  net::happy_eyeballs attempts_;
  dial_in_progress*& shown_;
};

class address_dialer final : public dialer {
 public:
  explicit address_dialer(net::address local) : local_(std::move(local)) {}
  task<dialed> dial(loop& on, const endpoint& to) override {
    dial_in_progress* unused = nullptr;
    task<dialed> whole = dial_and_follow(on, to, unused);
    co_return co_await std::move(whole);
  }
  task<dialed> dial_and_follow(loop& on, const endpoint& to, dial_in_progress*& running) override {
    direct_dial attempts(on, co_await coro::this_environment(), local_, running);
    task<result<runtime_internal::handle>> connecting = attempts.connect(to);
    const result<runtime_internal::handle> connected = co_await std::move(connecting);
    if (!connected) co_return connected.status();
    co_return net::make_socket_duplex(on, *connected);
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
