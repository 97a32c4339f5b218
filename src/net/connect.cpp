#include "net/connect.hpp"

#include "net/io_error.hpp"
#include "net/io_wait.hpp"
#include "net/raw_address.hpp"

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

}  // namespace coracle::net
