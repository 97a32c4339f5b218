#include "net/connect.hpp"

#include "coracle/net/connect.hpp"
#include "net/happy_eyeballs.hpp"
#include "net/io_error.hpp"
#include "net/io_wait.hpp"
#include "net/open_stream.hpp"
#include "net/raw_address.hpp"

#include <string>

namespace coracle::net {

loop& current_loop() noexcept {
  loop* on = loop::current();
  CORACLE_ASSERT(on, "this requires a loop of a runtime: call it from a task that runs on one");
  return *on;
}

task<result<runtime_internal::handle>> connect_socket(loop& on, address to, address from) {
  if (to.kind() == address::family::none)
    co_return status::invalid_argument("no address to connect to: the address is empty");
  const bool bound = from.kind() != address::family::none;
  if (bound && (from.kind() != to.kind() || !from.is_ip()))
    co_return status::invalid_argument("the local address " + from.to_string() +
                                       " is of another family than " + to.to_string() +
                                       ": use IPv4 with IPv4, and IPv6 with IPv6");
  const std::int64_t opened = on.io().open_stream(raw_family(to));
  if (opened < 0) co_return connect_error(opened, to);
  const auto handle = static_cast<runtime_internal::handle>(opened);
  if (bound) {
    if (const std::int64_t error = on.io().bind_stream(handle, to_raw(from)); error < 0) {
      on.io().close(handle);
      co_return bind_error(error, from);
    }
  }

  const runtime_internal::raw_address raw = to_raw(to);
  io_wait connecting(on, runtime_internal::operation::kind::connect, handle);
  connecting.address = &raw;
  const std::int64_t outcome = co_await connecting;
  if (outcome >= 0) co_return handle;

  on.io().close(handle);
  if (!connecting.ended_early().ok()) {
    const status& early = connecting.ended_early();
    co_return status(early.code(), "connecting to " + to.to_string() + ": " + std::string(early.message()));
  }
  co_return connect_error(outcome, to);
}

// --- the public connect(), by name or to the first of several addresses

task<result<stream>> connect(std::vector<address> to) {
  if (to.empty()) co_return status::invalid_argument("no address to connect to: the list is empty");
  loop& on = current_loop();
  happy_eyeballs race(on, co_await coro::this_environment());
  std::vector<address> order = interleaved(std::move(to));
  const result<runtime_internal::handle> connected = co_await race.connect(std::move(order));
  if (!connected) co_return connected.status();
  co_return stream(std::make_unique<open_stream>(on, *connected));
}

task<result<stream>> connect(resolver& names, std::string host, std::uint16_t port) {
  const std::string where = host + ":" + std::to_string(port);
  result<std::vector<address>> to = co_await names.resolve(std::move(host), port);
  if (!to) co_return to.status();
  result<stream> connected = co_await connect(*std::move(to));
  if (connected.ok()) co_return connected;
  const status& reason = connected.status();
  co_return status(reason.code(), where + ": " + std::string(reason.message()));
}

task<result<stream>> connect(std::string host, std::uint16_t port) {
  resolver names;
  co_return co_await connect(names, std::move(host), port);
}

}  // namespace coracle::net
