#include "client/connecting/dialer.hpp"

#include "coracle/coro/environment.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "net/connect.hpp"
#include "net/socket_duplex.hpp"
#include "runtime/backend.hpp"

#include <cstddef>
#include <exception>
#include <utility>

namespace coracle::client {

namespace {

// Of an address over the next one (RFC 8305 8).
constexpr duration head_start = std::chrono::milliseconds(250);

// The attempts on the addresses of one server.
struct address_race {
  std::unique_ptr<net::duplex> won;
  status last_failure = status::unavailable("not connected");
  std::size_t running = 0;
  event<> changed;
};

task<> run_attempt(address_race& in, net::address to, net::address local) {
  auto made = co_await net::connect_duplex(std::move(to), std::move(local));
  if (!made) in.last_failure = made.status();
  else if (!in.won) in.won = *std::move(made);
  --in.running;
  in.changed.set();
}

task<> next_change(address_race& of) { co_await of.changed; }

class address_dialer final : public dialer {
 public:
  explicit address_dialer(net::address local) : local_(std::move(local)) {}
  task<result<std::unique_ptr<net::duplex>>> dial(loop&, const endpoint& to) override {
    if (!to.other_addresses().empty()) return dial_first(to);
    return net::connect_duplex(to.address(), local_);
  }

 private:
  // gRFC A61: the first address that answers.
  task<result<std::unique_ptr<net::duplex>>> dial_first(const endpoint& to) {
    address_race race;
    scope attempts{co_await coro::this_environment()};
    std::exception_ptr failure;
    try {
      for (std::size_t i = 0; i <= to.other_addresses().size() && !race.won; ++i) {
        race.changed.reset();
        attempts.spawn(run_attempt(race, i == 0 ? to.address() : to.other_addresses()[i - 1], local_));
        ++race.running;
        task<> change = next_change(race);
        with_timeout<void> limited(head_start, std::move(change));
        (void)co_await limited;
      }
      while (!race.won && race.running > 0) {
        race.changed.reset();
        co_await race.changed;
      }
    } catch (...) {
      failure = std::current_exception();
    }
    attempts.request_stop();
    co_await attempts.join();
    if (failure) std::rethrow_exception(failure);
    if (!race.won) co_return race.last_failure;
    co_return std::move(race.won);
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
