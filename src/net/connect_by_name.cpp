// connect_by_name: the public connect(), by name or to the first of several addresses.
#include "coracle/net/connect.hpp"

#include "net/connect.hpp"
#include "net/happy_eyeballs.hpp"
#include "net/open_stream.hpp"

#include <string>

namespace coracle::net {

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
  const status& why = connected.status();
  co_return status(why.code(), where + ": " + std::string(why.message()));
}

task<result<stream>> connect(std::string host, std::uint16_t port) {
  resolver names;
  co_return co_await connect(names, std::move(host), port);
}

}  // namespace coracle::net
