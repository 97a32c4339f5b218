#include "net/socket_duplex.hpp"

#include "net/connect.hpp"

#include <new>

namespace coracle::net {

std::unique_ptr<duplex> make_socket_duplex(loop& on, runtime_internal::handle connected) {
  try {
    return std::make_unique<socket_duplex>(on, connected);
  } catch (const std::bad_alloc&) {
    on.io().close(connected);
    throw;
  }
}

task<result<std::unique_ptr<duplex>>> connect_duplex(address to, address from) {
  loop& on = current_loop();
  const result<runtime_internal::handle> connected =
      co_await connect_socket(on, std::move(to), std::move(from));
  if (!connected) co_return connected.status();
  co_return make_socket_duplex(on, *connected);
}

}  // namespace coracle::net
