#include "net/listening_socket.hpp"

#include "net/inherited_sockets.hpp"
#include "net/io_error.hpp"
#include "net/raw_address.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::net {

namespace {

// The file of a UNIX socket outlives a program that crashed. It may be removed only when no process listens
// on it.
std::int64_t bind_and_listen(loop& on, const address& at, const runtime_internal::listen_options& options) {
  const runtime_internal::raw_address raw = to_raw(at);
  const std::int64_t opened = on.io().open_listener(raw, options);
  if (opened != -EADDRINUSE || at.kind() != address::family::path) return opened;
  const std::int64_t removed = on.io().remove_stale_path(raw);
  return removed < 0 ? removed : on.io().open_listener(raw, options);
}

}  // namespace

result<std::unique_ptr<listening_socket>> listening_socket::open(loop& on, const address& at,
                                                                 const listen_options& options) {
  if (at.kind() == address::family::none)
    return status::invalid_argument("no address to listen on: the address is empty");
  runtime_internal::listen_options listen_settings;
  listen_settings.backlog = options.backlog;
  listen_settings.reuse_port = options.reuse_port;
  listen_settings.only_ipv6 = options.only_ipv6;
  const std::int64_t opened = bind_and_listen(on, at, listen_settings);
  if (opened < 0) return listen_error(opened, at);

  const auto handle = static_cast<runtime_internal::handle>(opened);
  address bound = at;
  runtime_internal::raw_address raw;
  if (at.is_ip() && on.io().local_address(handle, raw) >= 0) bound = from_raw(raw);
  return std::make_unique<listening_socket>(on, handle, std::move(bound), sharing::exclusive);
}

result<std::unique_ptr<listening_socket>> listening_socket::adopt(loop& on, const inherited_socket& from) {
  if (!on.io().takes_descriptors())
    return status::unimplemented("a simulation has no service manager: listen on an address");
  const std::int64_t adopted = on.io().adopt_listener(from.descriptor);
  if (adopted < 0) return inherited_error(adopted, from);
  const auto handle = static_cast<runtime_internal::handle>(adopted);
  runtime_internal::raw_address raw;
  address bound;
  if (on.io().local_address(handle, raw) >= 0) bound = from_raw(raw);
  return std::make_unique<listening_socket>(on, handle, std::move(bound), sharing::shared);
}

listening_socket::~listening_socket() {
  CORACLE_ASSERT(!accepting,
                 "a listener was destroyed while a task waits in accept(): co_await close() first");
  release_address();
  if (shared == sharing::shared) on.io().forget(socket);
  on.io().close(socket);
}

// Removes a name first: a client that no longer finds it can create a new socket, and one that found it
// before still gets an answer.
void listening_socket::release_address() noexcept {
  if (shared == sharing::shared || std::exchange(released_, true)) return;
  if (local.kind() == address::family::path) on.io().remove_path(to_raw(local));
  else if (local.is_ip()) on.io().close_queue(socket);
}

accept_pause::accept_pause(loop& owner_loop) noexcept
    : coro::stop_callback([](coro::stop_callback& c) noexcept { static_cast<accept_pause&>(c).end(); }),
      loop_(owner_loop) {
  fire = [](coro::timer& t) noexcept {
    auto& self = static_cast<accept_pause&>(t);
    self.coro::stop_callback::unlink();
    std::exchange(self.waiter_, {}).resume();
  };
}

void accept_pause::end() noexcept {
  if (waiter_) loop_.arm(*this, time_point::min());
}

bool accept_pause::start(std::coroutine_handle<> h, const coro::environment& e) noexcept {
  if (e.stop.stop_requested()) return false;
  waiter_ = h;
  e.stop.subscribe(*this);
  loop_.arm(*this, std::min(deadline_after(loop_.now(), runtime_internal::accept_pause_time), e.deadline));
  return true;
}

}  // namespace coracle::net
