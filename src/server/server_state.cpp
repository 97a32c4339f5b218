#include "server/server_state.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/runtime/offload.hpp"
#include "coro/post_function.hpp"
#include "net/duplex.hpp"
#include "net/inherited_sockets.hpp"
#include "net/open_stream.hpp"
#include "net/socket_duplex.hpp"
#include "rpc/channel_registry.hpp"
#include "runtime/backend.hpp"
#include "runtime/memory_limit.hpp"
#include "runtime/repeated_lines.hpp"
#include "runtime/runtime_core.hpp"
#include "server/handover/handover.hpp"
#include "server/server_instruments.hpp"
#include "server/shard.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <new>
#include <string>
#include <utility>

namespace coracle::server_internal {

server_state::server_state(runtime& on, const server_options& o)
    : owner(on),
      options(o),
      access(o.web),
      memory(quota_for(on, o)),
      id(rpc::channel_registry::next_id()),
      registry_(server_registry::of(on)),
      reloadable_(o),
      trace_(on.at(0).wall_now()),
      loads_(on.size()),
      memory_requested_(on.size()),
      connections_max_(o.limits.connections) {
  for (const message_codec* c : options.codecs) {
    CORACLE_REQUIRE(c, "server_options::codecs has a null pointer");
    routes.subtypes.add(*c);
    routes.connect_subtypes.add(*c);
  }
  rate_limits::require_valid(options.rate_limits);
  routes.encodings = options.accepted_encodings.common(encoding_set::all());
  if (options.observer) add_observer(options.observer);
}

server_state::~server_state() = default;

void server_state::add_observer(std::shared_ptr<server_observer> o) {
  observers.push_back(std::move(o));
  routes.report_unknown_methods();
}

std::shared_ptr<const live_options> server_state::made_of(const reloadable_options& o) const {
  std::shared_ptr<rate_limits> rates;
  if (!o.rate_limits.empty()) {
    std::vector<std::string_view> paths;
    for (std::uint32_t i = 0; i < routes.size(); ++i) paths.push_back(routes.at(i).path);
    rates = std::make_shared<rate_limits>(o.rate_limits, paths, live_ ? live_->rates.get() : nullptr);
    for (const std::string& name : rates->unknown())
      owner.log().write(log_room::server, log_level::warning,
                        "a rate limit limits nothing: the server has no method or service " + name);
  }
  return std::make_shared<const live_options>(o, options, std::move(rates));
}

std::shared_ptr<const live_options> server_state::live() {
  const std::lock_guard held(reloading_);
  if (!live_) live_ = made_of(reloadable_);
  return live_;
}

server_limits server_state::limits() const {
  const std::lock_guard held(reloading_);
  return reloadable_.limits;
}

void server_state::reload(const server_options& now) {
  rate_limits::require_valid(now.rate_limits);
  reloadable_options o(now);
  o.limits.stall_time = options.limits.stall_time;
  // Held until each loop will hear of it, so that the last one is the same for all.
  const std::lock_guard held(reloading_);
  // Before the first connection, methods may still be added.
  if (live_) live_ = made_of(o);
  reloadable_ = std::move(o);
  connections_max_.store(reloadable_.limits.connections, std::memory_order_relaxed);
  record_event("the limits were reloaded", rpc::traced_event::severity::info);
  owner.log().write(log_room::server, log_level::info, "the server's limits were reloaded");
  if (!live_) return;
  for (std::size_t i = 0; i < size(); ++i)
    with_shard(i, [live = live_](shard* s) {
      if (s) s->reload(live);
    });
}

void server_state::set_reader(std::function<server_options()> read) {
  const std::lock_guard held(setting_up);
  read_options_ = std::move(read);
}

void server_state::make_shards() {
  join_quota();
  registry_->add(id, weak_from_this());
  for (std::size_t i = 0; i < owner.size(); ++i) {
    auto made = std::make_unique<shard>(shared_from_this(), owner.at(i));
    shards_.push_back(made.get());
    shard_handles_.push_back(runtime_internal::loop_service::start(owner.at(i), std::move(made)));
  }
}

void server_state::request_stop() noexcept {
  with_shard(0, [this](shard* s) {
    if (!s || stop_requested_event_.is_set()) return;
    stop_requested_event_.set();
    if (!serving_) owner.spawn_on(owner.at(0), drain_with_configured_grace());
  });
}

namespace {

using signals_of = std::initializer_list<process_signal>;

std::uint32_t bits_of(signals_of all) noexcept {
  std::uint32_t bits = 0;
  for (const process_signal s : all) bits |= std::uint32_t{1} << static_cast<unsigned>(s);
  return bits;
}

constexpr signals_of stops{process_signal::interrupt, process_signal::terminate};
constexpr signals_of stops_and_replaces{process_signal::interrupt, process_signal::terminate,
                                        process_signal::user2};

}  // namespace

// Under setting_up, as the beginning of run(): the signals of a server that runs are watched.
void server_state::defer_signals() {
  if (runs_ || !owner.at(0).io().takes_descriptors()) return;  // a simulation's begin with its loops
  {
    const std::lock_guard held(deferred_signals_mutex_);
    deferred_signals_ = std::make_unique<runtime_internal::kernel::deferred_signals>(
        options.handover ? bits_of({process_signal::user2}) : 0);
  }
  with_shard(0, [this](shard*) {
    if (!runs_) restore_signals();
  });
}

void server_state::restore_signals() noexcept {
  const std::lock_guard held(deferred_signals_mutex_);
  deferred_signals_.reset();
}

result<net::signal_watch> server_state::open_signals() {
  const signals_of all = options.handover ? stops_and_replaces : stops;
  const std::lock_guard held(deferred_signals_mutex_);
  if (!deferred_signals_) return net::signal_watch::open(all);
  const std::int64_t passed = deferred_signals_->become_watch(bits_of(all));
  deferred_signals_.reset();
  if (passed < 0) return net::signal_watch::open(all);  // with the reason
  return net::signal_watch::adopt(passed);
}

void server_state::cancel_all() noexcept {
  for (std::size_t i = 0; i < size(); ++i)
    with_shard(i, [](shard* s) {
      if (s) s->cancel_all();
    });
}

void server_state::close() noexcept {
  registry_->remove(id);
  restore_signals();
  handover* const h = handover_;
  if (h && with_shard(0, [h](shard*) { h->end(); })) owner.core().wait(h->finished);
  end_kept_sockets();
  for (const auto& shard_handle : shard_handles_) shard_handle->request_shutdown();
  for (const auto& shard_handle : shard_handles_)
    if (!shard_handle->ended.is_set()) owner.core().wait(shard_handle->ended);
  if (h) h->release();
  // No call is left. A channel in this process may keep the state itself for longer.
  interceptors.clear();
  options.observer.reset();
  observers.clear();
}

namespace {

// Shared by the drains of the shards. The last one posts it to the loop that waits, which allocates no
// memory.
struct all_drained : coro::runnable {
  all_drained(std::size_t n, coro::executor& on) noexcept : left(n), owner_loop(on) {
    run = [](coro::runnable& w) noexcept {
      auto& self = static_cast<all_drained&>(w);
      const std::shared_ptr<all_drained> alive = std::move(self.posted);
      self.done.set();
    };
  }
  std::atomic<std::size_t> left;
  coro::executor& owner_loop;
  event<> done{};
  std::shared_ptr<all_drained> posted;
};

void one_is_drained(const std::shared_ptr<all_drained>& all) noexcept {
  if (all->left.fetch_sub(1) != 1) return;
  all->posted = all;
  all->owner_loop.post(*all);
}

struct all_closed final : all_drained, close_watch {
  using all_drained::all_drained;
  void listeners_closed() noexcept override { one_is_drained(std::exchange(self, nullptr)); }
  std::shared_ptr<all_closed> self;  // while a shard has it
};

task<> drain_one(std::shared_ptr<server_state> of, loop& where, duration grace,
                 std::shared_ptr<all_drained> all) {
  try {
    if (shard* s = of->shard_of(where)) co_await s->drain(grace);
  } catch (const coro::cancelled&) {
    // The runtime stops: the shard leaves by itself.
  } catch (const std::bad_alloc&) {
    if (shard* s = of->shard_of(where)) s->cancel_all();
  }
  one_is_drained(all);
}

}  // namespace

void server_state::announce_leaving() {
  if (leaving_.exchange(true)) return;
  // The registration is that of the process which goes on serving.
  const bool is_others = is_other_process_serving();
  for (service* s : routes.services()) {
    if (is_others) s->replaced({});
    else s->leaving();
  }
}

// Serves on while clients and registries learn that the server leaves.
task<> server_state::leave() {
  handover* const h = handover_;
  if (h && (h->is_being_replaced() || h->has_not_taken_over())) co_await end_handover();
  if (options.leave_time <= duration::zero()) co_return;
  if (is_replaced() || is_other_process_serving()) co_return;
  announce_leaving();
  record_event("leaving", rpc::traced_event::severity::info);
  static_cast<void>(co_await with_timeout(options.leave_time, until_hurry()));
}

task<> server_state::until_hurry() { co_await hurry_; }

void server_state::begin_handover() {
  started_ = true;
  handover* const h = handover_;
  if (!h) return;
  with_shard(0, [this, h](shard* s) {
    if (s) h->begin(shared_from_this());
  });
}

bool server_state::start_successor() {
  handover* const h = handover_;
  if (!h) return false;
  if (!started_) {
    owner.log().write(log_room::server, log_level::error,
                      "hand_over() starts no successor before run() or start(): call one of them first");
    return true;
  }
  with_shard(0, [h](shard* s) {
    if (s) h->start_successor();
  });
  return true;
}

status server_state::handover_failure() const {
  const handover* const h = handover_;
  return h ? h->failure() : status();
}

bool server_state::is_replaced() const noexcept {
  const handover* const h = handover_;
  return h && h->replaced();
}

bool server_state::is_other_process_serving() const noexcept {
  const handover* const h = handover_;
  return h && h->has_not_taken_over();
}

task<> server_state::end_handover() {
  handover* const h = handover_;
  if (h && with_shard(0, [h](shard*) { h->end(); })) co_await h->ended();
}

// The registration belongs to the successor, which has made it anew.
void server_state::replaced(const std::vector<net::address>& given_up) noexcept {
  if (!leaving_.exchange(true))
    for (service* s : routes.services()) s->replaced(given_up);
  record_event("replaced by another process", rpc::traced_event::severity::info);
  hurry_.set();  // no client has to learn anything within leave_time any more
  if (serving_) stop_requested_event_.set();  // needs no memory
  else request_stop();
}

// Registrations may have been replaced by the process that has failed.
void server_state::resumed() noexcept {
  if (!leaving_.load())
    for (service* s : routes.services()) s->resumed();
}

// The connections that have arrived at the listeners go to the loops before these begin to drain.
task<> server_state::close_listeners() {
  auto closed = std::make_shared<all_closed>(1, coro::this_executor());
  const bool there = with_shard(0, [closed](shard* s) {
    if (!s) return one_is_drained(closed);
    closed->self = closed;
    s->close_listeners(*closed);
  });
  if (there) co_await closed->done;
}

// The next process of the service has the sockets only if this one was told to end for it.
void server_state::end_kept_sockets() noexcept {
  handover* const h = handover_;
  if (!h) return;
  with_shard(0, [this, h](shard*) {
    if (!stop_signalled_ && !h->replaced()) h->store().end();
  });
}

task<> server_state::drain(duration grace) {
  co_await end_handover();
  announce_leaving();
  if (!draining.exchange(true)) {
    record_event("draining", rpc::traced_event::severity::info);
    for (service* s : routes.services()) s->draining();
  }
  end_kept_sockets();
  co_await close_listeners();
  if (handover* const h = handover_) h->release();
  auto all = std::make_shared<all_drained>(size(), coro::this_executor());
  for (std::size_t i = 0; i < size(); ++i) {
    const bool there = with_shard(i, [this, i, grace, all](shard* s) {
      loop& where = owner.at(i);
      const bool begun = base::if_memory_allows(
          [&] { owner.spawn_on(where, drain_one(shared_from_this(), where, grace, all)); });
      if (begun) return;
      if (s) s->cancel_all();
      one_is_drained(all);
    });
    if (!there && all->left.fetch_sub(1) == 1) all->done.set();
  }
  co_await all->done;
}

task<> server_state::watch_signals(net::signal_watch& signals) {
  while (true) {
    const result<process_signal> s = co_await signals.next();
    if (!s) co_return;
    if (*s == process_signal::user2) {
      if (handover* const h = handover_) h->start_successor();
      else
        owner.log().write(log_room::server, log_level::warning,
                          "no successor is started: the server listens at no address");
      continue;
    }
    const bool first = !std::exchange(stop_signalled_, true);
    if (!stop_requested_event_.is_set()) {
      stop_requested_event_.set();
    } else if (!first || !is_replaced()) {
      hurry_.set();
      cancel_all();
    }
  }
}

// What is read may be wrong, and must not end the server.
task<> server_state::watch_hangups(std::function<server_options()> read) {
  result<net::signal_watch> hangups = net::signal_watch::open({process_signal::hangup});
  if (!hangups) {
    owner.log().write(log_room::server, log_level::warning,
                      "SIGHUP cannot reload the server: " + hangups.status().to_string());
    co_return;
  }
  while (true) {
    const result<process_signal> s = co_await hangups->next();
    if (!s) co_return;
    try {
      const server_options now = co_await offload(read);
      reload(now);
    } catch (const coro::cancelled&) {
      co_return;
    } catch (const std::exception& failure) {
      owner.log().write(log_room::server, log_level::error,
                        std::string("the server's limits were not reloaded: ") + failure.what());
    }
  }
}

task<> server_state::drain_with_configured_grace() {
  const std::shared_ptr<server_state> alive = shared_from_this();
  co_await leave();
  co_await drain(options.drain_grace);
}

task<> server_state::serve() {
  serving_ = true;
  co_await stop_requested_event_;
  co_await leave();
  co_await drain(options.drain_grace);
}

task<> server_state::serve_until_stopped() {
  const std::shared_ptr<server_state> alive = shared_from_this();
  result<net::signal_watch> signals = open_signals();
  if (handover* const h = handover_) h->begin(alive);
  if (!signals)
    owner.log().write(log_room::server, log_level::warning,
                      "signals cannot drain the server: " + signals.status().to_string());
  const coro::environment& here = co_await coro::this_environment();
  scope watching(here);
  if (signals) watching.spawn(watch_signals(*signals));
  if (read_options_) watching.spawn(watch_hangups(read_options_));
  try {
    co_await serve();
  } catch (const coro::cancelled&) {
    // The runtime stops; the shards leave by themselves.
  }
  watching.request_stop();
  co_await watching.join();
}

// --- the memory quota

namespace {

constexpr std::uint64_t default_quota_bytes_max = std::uint64_t{1} << 30;

}  // namespace

memory_quota quota_for(runtime& on, const server_options& options) {
  if (options.memory) return *options.memory;
  // A simulation must not depend on the machine that it runs on.
  const bool real = on.at(0).io().takes_descriptors();
  const runtime_internal::memory_limit system =
      real ? runtime_internal::read_memory_limit() : runtime_internal::memory_limit();
  const bool tight = system.bytes / 2 < default_quota_bytes_max;
  const std::uint64_t bytes = tight ? system.bytes / 2 : default_quota_bytes_max;
  if (on.log().is_enabled(log_room::server, log_level::info)) {
    on.log().write(log_room::server, log_level::info,
                   "the server's memory quota is " + std::to_string(bytes) + " bytes: " +
                       (tight ? "half of " + system.source + ", which is " + std::to_string(system.bytes)
                              : "the default, 1 GiB") +
                       " (set another with server_options::memory)");
  }
  return memory_quota(static_cast<std::size_t>(bytes));
}

void server_state::join_quota() {
  const std::lock_guard held(memory.usage_->servers_change);
  std::erase_if(memory.usage_->servers, [](const auto& s) { return s.expired(); });
  memory.usage_->servers.push_back(weak_from_this());
}

void server_state::notify_other_loops(loop& but, memory_state change) noexcept {
  std::vector<std::shared_ptr<server_state>> all;
  const bool found = base::if_memory_allows([&] {
    const std::lock_guard held(memory.usage_->servers_change);
    for (const auto& s : memory.usage_->servers) all.push_back(s.lock());
  });
  if (!found) return;  // this loop does its own part, and notifies the others again
  for (const auto& s : all)
    if (s) s->notify_shards(s.get() == this ? &but : nullptr, change);
}

void server_state::notify_shards(const loop* but, memory_state change) noexcept {
  for (std::size_t i = 0; i < size(); ++i) {
    if (but && i == but->index()) continue;
    if (change == memory_state::high) {
      base::if_memory_allows([&] {
        with_shard(i, [](shard* s) {
          if (s) s->watch_pressure();
        });
      });
    } else if (!memory_requested_[i].exchange(true)) {
      const bool asked = base::if_memory_allows([&] {
        with_shard(i, [this, i](shard* s) {
          memory_requested_[i] = false;
          if (s) s->free_memory(false);
        });
      });
      if (!asked) memory_requested_[i] = false;
    }
  }
}

// --- listening

namespace {

constexpr std::string_view inherited_scheme = "systemd:";

using opened_sockets = std::vector<opened_socket>;

// What a predecessor has passed on, or the service manager has kept; else a new socket.
result<opened_socket> open_one(loop& on, const net::address& at, const net::listen_options& options,
                               handover* passed) {
  opened_socket one;
  one.name.text = at.to_string();
  if (passed) {
    result<opened_socket> taken = passed->from().take(on, at, options.only_ipv6);
    if (taken && !taken->acceptor) taken = passed->store().take(on, at, options.only_ipv6);
    if (!taken) return taken.status();
    if (taken->acceptor) {
      taken->name = std::move(one.name);
      return taken;
    }
  }
  auto opened = net::acceptor::open(on, at, options);
  // With a predecessor, that one may serve at it.
  const bool may_be_kept =
      opened.status().code() == status_code::already_exists && passed && !passed->from().has_predecessor();
  if (may_be_kept && passed->store().end_others_at_port(on, at))
    opened = net::acceptor::open(on, at, options);
  if (!opened) return opened.status();
  one.acceptor = *std::move(opened);
  return one;
}

// Listens on each address, all at one port. The first one is required; of the others, what the machine does
// not have, such as IPv6, is left out.
result<opened_sockets> open_all(loop& on, const std::vector<net::address>& addresses,
                                net::listen_options options, handover* passed) {
  opened_sockets opened;
  options.only_ipv6 = addresses.size() > 1;  // IPv4 has a socket of its own
  // A port that the system chooses for the first address may be in use at another one.
  for (int more_ports = 10;; --more_ports) {
    opened.clear();
    bool retry = false;
    for (const net::address& a : addresses) {
      const bool chosen = !opened.empty() && a.port() == 0;
      const net::address at = chosen ? a.with_port(opened.front().acceptor->local_address().port()) : a;
      auto one = open_one(on, at, options, passed);
      if (one) {
        opened.push_back(*std::move(one));
        continue;
      }
      if (opened.empty()) return one.status();
      if (one.status().code() != status_code::already_exists) continue;
      // The port of a socket that was passed on, or kept, stays.
      retry = chosen && more_ports > 0 && !opened.front().claim && !opened.front().stored_as;
      if (!retry)
        on.log()
            .in(log_room::server)
            .warning("the server listens on ", opened.front().acceptor->local_address(),
                     " alone: ", one.status());
    }
    if (!retry) return opened;
  }
}

result<opened_sockets> open_at(loop& on, std::string_view text, const net::listen_options& options,
                               handover* passed) {
  const result<std::vector<net::address>> addresses = net::parse_addresses(text);
  if (!addresses) return addresses.status();
  return open_all(on, *addresses, options, passed);
}

result<opened_sockets> adopt_inherited(loop& on, std::string_view name, handover* passed) {
  if (passed) {
    auto taken = passed->from().take_of_manager(on, name);
    if (!taken || !taken->empty()) return taken;
  }
  const auto inherited = net::inherited_sockets(name);
  if (!inherited) return inherited.status();
  opened_sockets adopted;
  for (const net::inherited_socket& s : *inherited) {
    auto one = net::acceptor::adopt(on, s);
    if (!one) return one.status();
    adopted.push_back({*std::move(one), {true, s.name}, {}});
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
  const status reason = try_to_listen(text, credentials);
  if (!reason.ok() && listen_failure.ok()) listen_failure = reason;
  return reason;
}

status server_state::adopt(int descriptor, const server_credentials& credentials) {
  if (const status reason = credentials.failure(); !reason.ok()) return reason;
  if (!loopback_reason.empty()) return status::failed_precondition(loopback_reason);
  const auto over = [] { return status::unavailable("the runtime of the server has ended"); };
  if (shard_handles_[0]->ended.is_set()) return over();
  const result<runtime_internal::handle> adopted = net::adopt_socket(owner.at(0), descriptor);
  if (!adopted) return adopted.status();
  const bool taken = with_shard(0, [this, h = *adopted, security = credentials.security()](shard* s) {
    if (s) accepted(h, security);
    else owner.at(0).io().close(h);
  });
  if (!taken) return over();
  const std::lock_guard lock(setting_up);
  adopted_some = true;
  return {};
}

status server_state::begin_to_run() {
  const std::lock_guard lock(setting_up);
  if (!listen_failure.ok()) return listen_failure;
  if (!listening && !adopted_some)
    return status::failed_precondition("the server has no address: call listen() before run()");
  runs_ = true;
  started_ = true;
  return {};
}

result<std::vector<opened_socket>> server_state::open_sockets(std::string_view text) {
  loop& on = owner.at(0);
  if (text.starts_with(inherited_scheme))
    return adopt_inherited(on, text.substr(inherited_scheme.size()), owned_handover_.get());
  return open_at(on, text, {.reuse_port = options.reuse_port}, owned_handover_.get());
}

status server_state::try_to_listen(std::string_view text, const server_credentials& credentials) {
  if (const status reason = credentials.failure(); !reason.ok()) return reason;
  if (options.handover && !owned_handover_) {
    auto made = std::make_unique<handover>(*this);
    if (const status failed = made->open(); !failed.ok()) return failed;
    owned_handover_ = std::move(made);
  }
  result<opened_sockets> opened = open_sockets(text);
  if (!opened) return opened.status();
  if (!loopback_reason.empty())
    for (const auto& o : *opened)
      if (!o.acceptor->local_address().is_loopback()) return status::failed_precondition(loopback_reason);
  if (!std::exchange(listening, true)) {
    port = opened->front().acceptor->local_address().port();
    defer_signals();
  }
  for (opened_socket& o : *opened) {
    const net::address local = o.acceptor->local_address();
    addresses.push_back(local);
    if (credentials.secure()) {
      const std::lock_guard held(secured_mutex_);
      secured_.push_back({local, credentials.security()});
    }
    record_event("listening on " + local.to_string(), rpc::traced_event::severity::info);
    // std::function and posted functions need copyable callables.
    with_shard(0, [held = std::make_shared<opened_socket>(std::move(o)),
                   security = credentials.security()](shard* s) {
      if (s) s->listen(std::move(*held), security);
    });
  }
  handover_ = owned_handover_.get();
  if (started_) begin_handover();
  return {};
}

std::vector<server_state::secured_listener> server_state::secured_listeners() const {
  const std::lock_guard held(secured_mutex_);
  return secured_;
}

void server_state::accepted(runtime_internal::handle connection,
                            const std::shared_ptr<security::server_security>& security) noexcept {
  const std::size_t i = least_loaded();
  if (i == size()) {
    char reason[80];
    std::snprintf(reason, sizeof reason, "server_limits::connections exceeded, limit %zu",
                  connections_max_.load(std::memory_order_relaxed));
    measure_rejection("connections");
    return refuse(connection, reason);
  }
  loop& to = owner.at(i);
  ++load_of(to);
  if (to.is_current()) return adopt_connection(shards_[i], to, connection, security.get());
  bool taken = false;
  const bool posted = base::if_memory_allows([&] {
    taken = with_shard(i, [this, &to, connection, security](shard* s) {
      adopt_connection(s, to, connection, security.get());
    });
  });
  if (taken) return;
  --load_of(to);
  if (posted) owner.at(0).io().close(connection);
  else refuse(connection, "the process is out of memory");
}

// Runs on the connection's loop. Closes the connection if the shard is gone or there is no memory.
void server_state::adopt_connection(shard* by, loop& on, runtime_internal::handle connection,
                                    security::server_security* security) noexcept {
  const bool adopted = base::if_memory_allows([&] {
    auto stream = open(on, connection, security);
    if (by && stream) by->adopt(std::move(stream));
    else --load_of(on);
  });
  if (adopted) return;
  --load_of(on);
  if (by) by->note_refused_connection();
}

void server_state::refuse(runtime_internal::handle connection, std::string_view reason) noexcept {
  owner.at(0).io().close(connection);
  base::if_memory_allows([&] {
    repeated_lines::write(owner.at(0), log_room::server, log_level::warning, this, reason,
                          "a connection was refused: " + std::string(reason));
  });
}

// SO_REUSEPORT distributes connections by a hash; with few connections, which is usual for gRPC, some loops
// get twice as many as others. One listener that hands each connection to the loop with the fewest spreads
// them evenly. Returns size() if there are too many connections.
std::size_t server_state::least_loaded() noexcept {
  std::size_t best = next_++ % size();
  std::size_t all = 0;
  for (std::size_t n = 0; n < size(); ++n) {
    const std::size_t i = (next_ + n) % size();
    const std::size_t load = loads_[i].load(std::memory_order_relaxed);
    all += load;
    if (load < loads_[best].load(std::memory_order_relaxed)) best = i;
  }
  return all < connections_max_.load(std::memory_order_relaxed) ? best : size();
}

// --- snapshots, gathered from the loops

namespace {

// Shared with the loops; the last one resumes the loop that waits.
struct gathering {
  std::atomic<std::size_t> left;
  coro::executor& owner_loop;
  std::vector<server_snapshot> parts;
  event<> done{};
};

void add(server_snapshot& to, server_snapshot& part) {
  to.calls_started += part.calls_started;
  to.calls_succeeded += part.calls_succeeded;
  to.calls_failed += part.calls_failed;
  to.calls_rejected += part.calls_rejected;
  to.calls_limited += part.calls_limited;
  to.calls_waiting += part.calls_waiting;
  to.concurrency_limit += part.concurrency_limit;
  to.last_call_started = std::max(to.last_call_started, part.last_call_started);
  std::move(part.admission.begin(), part.admission.end(), std::back_inserter(to.admission));
  std::move(part.listeners.begin(), part.listeners.end(), std::back_inserter(to.listeners));
  std::move(part.connections.begin(), part.connections.end(), std::back_inserter(to.connections));
}

}  // namespace

rpc::event_trace server_state::trace() const {
  const std::lock_guard lock(trace_mutex_);
  return trace_;
}

void server_state::record_event(std::string_view text, rpc::traced_event::severity level) noexcept {
  const std::lock_guard lock(trace_mutex_);
  trace_.add(owner.at(0).wall_now(), text, level);
}

task<server_snapshot> server_state::snapshot(std::uint64_t detailed) {
  const std::shared_ptr<server_state> alive = shared_from_this();
  auto all = std::make_shared<gathering>(size(), coro::this_executor(), std::vector<server_snapshot>(size()));
  for (std::size_t i = 0; i < size(); ++i) {
    const bool there = with_shard(i, [i, all, detailed](shard* s) {
      if (s) all->parts[i] = s->snapshot(detailed);
      if (all->left.fetch_sub(1) == 1) coro::post_function(all->owner_loop, [all] { all->done.set(); });
    });
    if (!there && all->left.fetch_sub(1) == 1) all->done.set();
  }
  co_await all->done;
  server_snapshot whole;
  for (server_snapshot& part : all->parts) add(whole, part);
  const auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };
  std::sort(whole.listeners.begin(), whole.listeners.end(), by_id);
  std::sort(whole.connections.begin(), whole.connections.end(), by_id);
  co_return whole;
}

duration jittered(duration d, std::uint64_t random) noexcept {
  if (d == duration::max()) return d;
  return d + d / 10 - d / 500 * static_cast<std::int64_t>(random % 101);
}

}  // namespace coracle::server_internal
