// How a server comes to its listening sockets, and which loop gets a new connection.
#include "base/if_memory_allows.hpp"
#include "net/duplex.hpp"
#include "net/inherited_sockets.hpp"
#include "net/socket_duplex.hpp"
#include "server/server_state.hpp"
#include "server/shard.hpp"

#include <mutex>
#include <string>
#include <utility>

namespace coracle::server_internal {

namespace {

constexpr std::string_view inherited_scheme = "systemd:";

using acceptors = std::vector<std::unique_ptr<net::acceptor>>;

result<acceptors> open_at(loop& on, std::string_view text) {
  const result<std::vector<net::address>> addresses = net::parse_addresses(text);
  if (!addresses) return addresses.status();
  acceptors opened;
  for (net::address a : *addresses) {
    // "localhost:0": the second loopback gets the port that the first was given.
    if (!opened.empty() && a.port() == 0) a = a.with_port(opened.front()->local_address().port());
    auto one = net::acceptor::open(on, a);
    if (one) opened.push_back(*std::move(one));
    else if (opened.empty()) return one.status();  // a machine without IPv6 still has a localhost
  }
  return opened;
}

result<acceptors> adopt(loop& on, std::string_view name) {
  const auto inherited = net::inherited_sockets(name);
  if (!inherited) return inherited.status();
  acceptors adopted;
  for (const net::inherited_socket& s : *inherited) {
    auto one = net::acceptor::adopt(on, s);
    if (!one) return one.status();
    adopted.push_back(*std::move(one));
  }
  return adopted;
}

std::unique_ptr<net::duplex> open(loop& on, runtime_internal::handle connection,
                                  security::server_security* security) {
  auto raw = net::make_socket_duplex(on, connection);
  return security ? security->secure(on, std::move(raw)) : std::move(raw);
}

}  // namespace

status server_state::listen(std::string_view text, const server_credentials& credentials) {
  const std::lock_guard lock(setting_up);
  const status why = try_to_listen(text, credentials);
  if (!why.ok() && listen_failure.ok()) listen_failure = why;
  return why;
}

status server_state::ready_to_run() {
  const std::lock_guard lock(setting_up);
  if (!listen_failure.ok() || listening) return listen_failure;
  return status::failed_precondition("the server has no address: call listen() before run()");
}

status server_state::try_to_listen(std::string_view text, const server_credentials& credentials) {
  if (const status why = credentials.failure(); !why.ok()) return why;
  loop& on = owner.at(0);
  const bool inherited = text.starts_with(inherited_scheme);
  result<acceptors> opened = inherited ? adopt(on, text.substr(inherited_scheme.size())) : open_at(on, text);
  if (!opened) return opened.status();
  if (!std::exchange(listening, true)) {
    port = opened->front()->local_address().port();
    hold_termination();
  }
  for (auto& a : *opened) {
    // std::function and posted works want copyable callables.
    with_shard(0, [held = std::make_shared<std::unique_ptr<net::acceptor>>(std::move(a)),
                   security = credentials.security()](shard* s) {
      if (s) s->listen(std::move(*held), security);
    });
  }
  return {};
}

void server_state::accepted(runtime_internal::handle connection,
                            const std::shared_ptr<security::server_security>& security) noexcept {
  const std::size_t i = least_loaded();
  if (i == size()) return refuse(connection, "server_limits::connections are open");
  loop& to = owner.at(i);
  ++load_of(to);
  if (to.is_current()) return adopt_connection(shards_[i], to, connection, security.get());
  bool taken = false;
  const bool told = base::if_memory_allows([&] {
    taken = with_shard(i, [this, &to, connection, security](shard* s) {
      adopt_connection(s, to, connection, security.get());
    });
  });
  if (taken) return;
  --load_of(to);
  if (told) owner.at(0).io().close(connection);
  else refuse(connection, "the process is out of memory");
}

// On the connection's loop. Of a shard that is gone, or without memory, the connection is closed.
void server_state::adopt_connection(shard* by, loop& on, runtime_internal::handle connection,
                                    security::server_security* security) noexcept {
  const bool adopted = base::if_memory_allows([&] {
    auto stream = open(on, connection, security);
    if (by) by->adopt(std::move(stream));
    else --load_of(on);
  });
  if (adopted) return;
  --load_of(on);
  if (by) by->note_refused_connection();
}

void server_state::refuse(runtime_internal::handle connection, std::string_view why) noexcept {
  owner.at(0).io().close(connection);
  base::if_memory_allows([&] {
    refused_lines_.write(owner.log(), log_level::warning, owner.at(0).now(),
                         "a connection was refused: " + std::string(why));
  });
}

// The kernel's own spreading (SO_REUSEPORT) goes by a hash, and with few connections, as gRPC has them, leaves
// loops with twice as many as others: one listener that hands over to the loop with the fewest is even. size() when
// there are too many.
std::size_t server_state::least_loaded() noexcept {
  std::size_t best = next_++ % size();
  std::size_t all = 0;
  for (std::size_t n = 0; n < size(); ++n) {
    const std::size_t i = (next_ + n) % size();
    const std::size_t load = loads_[i].load(std::memory_order_relaxed);
    all += load;
    if (load < loads_[best].load(std::memory_order_relaxed)) best = i;
  }
  return all < options.limits().connections() ? best : size();
}

}  // namespace coracle::server_internal
