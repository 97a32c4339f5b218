#include "server/server_state.hpp"

#include "coracle/coro/scope.hpp"
#include "net/duplex.hpp"
#include "net/socket_duplex.hpp"
#include "runtime/runtime_core.hpp"
#include "server/connection_rules.hpp"
#include "server/shard.hpp"

#include <string>
#include <utility>

namespace coracle::serving {

server_state::server_state(runtime& on, const server_options& o)
    : owner(on),
      options(o),
      rules(connection_rules(o)),
      memory(o.limits().memory()),
      loads_(on.size()),
      asked_for_room_(on.size()) {
  for (const message_codec* c : options.codecs()) routes.subtypes.add(*c);
}

void server_state::settle() {
  for (std::size_t i = 0; i < owner.size(); ++i) {
    auto made = std::make_unique<shard>(shared_from_this(), owner.at(i));
    shards_.push_back(made.get());
    doors_.push_back(io::resident::settle(owner.at(i), std::move(made)));
  }
}

status server_state::listen(std::string_view text, const transport::server_credentials& credentials) {
  const result<std::vector<net::address>> addresses = net::parse_addresses(text);
  status why = addresses.status();
  if (why.ok()) why = credentials.failure();
  if (why.ok()) {
    for (net::address a : *addresses) {
      // "localhost:0": the second loopback gets the port that the first was given.
      if (a.is_ip() && a.port() == 0 && port.load() != 0 && a != addresses->front())
        a = a.with_port(port.load());
      auto opened = net::acceptor::open(owner.at(0), a);
      if (!opened) {
        // A machine without IPv6 still has a localhost.
        if (a != addresses->front() && listening) continue;
        why = opened.status();
        break;
      }
      if (!std::exchange(listening, true)) port = (*opened)->local_address().port();
      // std::function and posted works want copyable callables.
      with_shard(0, [held = std::make_shared<std::unique_ptr<net::acceptor>>(*std::move(opened)),
                     security = credentials.security()](shard* s) {
        if (s) s->listen(std::move(*held), security);
      });
    }
  }
  if (!why.ok() && listen_failure.ok()) listen_failure = why;
  return why;
}

namespace {

std::unique_ptr<net::duplex> open(loop& on, io::handle connection, net::server_security* security) {
  auto raw = net::make_socket_duplex(on, connection);
  return security ? security->secure(on, std::move(raw)) : std::move(raw);
}

}  // namespace

void server_state::accepted(io::handle connection,
                            const std::shared_ptr<net::server_security>& security) noexcept {
  const std::size_t i = least_loaded();
  if (i == size()) {
    refused_lines_.write(owner.log(), log_level::warning, owner.at(0).now(),
                         "a connection was refused: server_limits::connections are open");
    return owner.at(0).io().close(connection);
  }
  loop& to = owner.at(i);
  ++load_of(to);
  if (to.is_current()) return shards_[i]->adopt(open(to, connection, security.get()));
  const bool taken = with_shard(i, [&to, connection, security](shard* s) {
    auto stream = open(to, connection, security.get());
    if (s) s->adopt(std::move(stream));
  });
  if (!taken) owner.at(0).io().close(connection);
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

void server_state::make_room_elsewhere(loop& but) noexcept {
  for (std::size_t i = 0; i < size(); ++i) {
    if (i == but.index() || asked_for_room_[i].exchange(true)) continue;
    with_shard(i, [this, i](shard* s) {
      asked_for_room_[i] = false;
      if (s) s->make_room(false);
    });
  }
}

void server_state::request_stop() noexcept {
  with_shard(0, [this](shard* s) {
    if (!s || told_to_stop_.is_set()) return;
    told_to_stop_.set();
    if (!serving_) owner.spawn_on(owner.at(0), drain_as_told());
  });
}

void server_state::hurry() noexcept {
  for (std::size_t i = 0; i < size(); ++i)
    with_shard(i, [](shard* s) {
      if (s) s->hurry();
    });
}

void server_state::close() noexcept {
  for (const auto& door : doors_) door->ask_to_leave();
  for (const auto& door : doors_)
    if (!door->gone.is_set()) owner.core().wait(door->gone);
}

namespace {

// Shared by the shards' drains; the last one tells the loop that waits.
struct all_drained {
  std::atomic<std::size_t> left;
  coro::executor& home;
  event<> done{};
};

task<> drain_one(std::shared_ptr<server_state> of, loop& where, duration grace,
                 std::shared_ptr<all_drained> all) {
  try {
    if (shard* s = of->shard_of(where)) co_await s->drain(grace);
  } catch (const coro::cancelled&) {
    // The runtime stops: the shard leaves by itself.
  }
  if (all->left.fetch_sub(1) == 1) coro::post_function(all->home, [all] { all->done.set(); });
}

}  // namespace

task<> server_state::drain(duration grace) {
  if (!draining.exchange(true))
    for (service* s : routes.services()) s->draining();
  auto all = std::make_shared<all_drained>(size(), coro::this_executor());
  for (std::size_t i = 0; i < size(); ++i) {
    const bool there = with_shard(i, [this, i, grace, all](shard*) {
      loop& where = owner.at(i);
      owner.spawn_on(where, drain_one(shared_from_this(), where, grace, all));
    });
    if (!there && all->left.fetch_sub(1) == 1) all->done.set();
  }
  co_await all->done;
}

task<> server_state::watch_signals(net::signal_watch& signals) {
  while (true) {
    const result<process_signal> s = co_await signals.next();
    if (!s) co_return;
    if (told_to_stop_.is_set()) hurry();
    else told_to_stop_.set();
  }
}

task<> server_state::drain_as_told() {
  const std::shared_ptr<server_state> alive = shared_from_this();
  co_await drain(options.drain_grace());
}

task<> server_state::serve() {
  serving_ = true;
  co_await told_to_stop_;
  co_await drain(options.drain_grace());
}

task<> server_state::serve_until_told() {
  const std::shared_ptr<server_state> alive = shared_from_this();
  result<net::signal_watch> signals = net::signal_watch::open();
  if (!signals)
    owner.log().write(log_level::warning,
                      "signals will not drain the server: " + signals.status().to_string());
  const coro::environment& here = co_await coro::this_environment();
  scope watching(here);
  if (signals) watching.spawn(watch_signals(*signals));
  try {
    co_await serve();
  } catch (const coro::cancelled&) {
    // The runtime stops; the shards leave by themselves.
  }
  watching.request_stop();
  co_await watching.join();
}

}  // namespace coracle::serving
