#include "client/channel_state.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "client/call/client_headers.hpp"
#include "client/channel_observers.hpp"
#include "client/naming/channel_resolver.hpp"
#include "client/naming/service_config_data.hpp"
#include "client/shard.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coro/post_function.hpp"
#include "http/field_rules.hpp"
#include "rpc/channel_registry.hpp"
#include "runtime/background_runtime.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

namespace coracle::client {

using severity = rpc::traced_event::severity;

namespace {

// Invalid credentials and an invalid authority fail every call, as an invalid target does.
destination checked(destination to, const channel_credentials& credentials) {
  if (to.bad.ok() && !credentials.failure().ok()) {
    std::string text = "cannot connect to " + to.name;
    text.append(": ").append(credentials.failure().message());
    to.bad = status::unavailable(text);
  }
  to.authority = security::authority_of(credentials, to.authority);
  if (to.bad.ok() && !http::valid_authority(to.authority))
    to.bad = status::unavailable("the authority \"" + base::printable(to.authority) + "\" of " +
                                 base::printable(to.name) +
                                 " is not valid in HTTP: set channel_options::authority to host:port, in "
                                 "printable ASCII without spaces and \"@\"");
  return to;
}

wire_options wire_options_of(const channel_options& o) {
  return {o.protocol, o.connect_get, o.connect_get_target_bytes_max, o.rest.table(), o.http_observer.get()};
}

connect_params connect_params_for(runtime& on, const destination& to, std::shared_ptr<dialer> by,
                                  channel_credentials credentials, const channel_options& o) {
  connect_params params;
  params.registry = rpc::channel_registry::of(on);
  params.credentials = std::move(credentials);
  params.in_process = to.in_process;
  params.health_credentials = o.calls.credentials;
  params.authority = to.authority;
  params.by = std::move(by);
  params.name = to.name;
  params.uri = to.uri;
  params.connection.http2.keepalive = {std::max<duration>(o.keepalive.time, std::chrono::seconds(10)),
                                       o.keepalive.timeout, o.keepalive.without_calls};
  params.connection.http2.own_open_streams = o.streams_per_connection;
  params.connection.http2.header_block_bytes = http2::response_block_bytes_max;
  params.connection.http2.continuations = http2::response_continuations_max;
  params.wire = wire_options_of(o);
  if (o.http_version == http_version::http1) {
    transport::http1_options& http1 = params.http1.emplace();
    http1.limits = http1::response_limits();
    http1.idle_timeout = o.http1_idle_time;
  }
  return params;
}

std::shared_ptr<const method_configs> methods_of(const service_config& c, const method_configs* before,
                                                 bool retries) {
  auto made = std::make_shared<const method_configs>(c, before, retries);
  return made->empty() ? nullptr : std::move(made);
}

}  // namespace

channel_state::channel_state(runtime& on, destination where, std::shared_ptr<dialer> by,
                             channel_credentials credentials, channel_options o)
    : to(checked(std::move(where), credentials)),
      options(std::move(o)),
      user_agent(options.user_agent.empty() ? std::string()
                                            : options.user_agent + " " + library_user_agent()),
      target{security::scheme_of(credentials), to.authority, this, user_agent, wire_options_of(options)},
      params(connect_params_for(on, to, std::move(by), std::move(credentials), options)),
      is_private(security::always_private(params.credentials) || to.in_process),
      own_methods(methods_of(options.service_config, nullptr, options.retries)),
      open_on_(&on),
      call_defaults_(options.calls == call_options() ? nullptr : &options.calls),
      observer_(channel_observers::of(on)->observer_of(to.uri, options)),
      runtime_(on),
      shards_(on.size(), nullptr),
      counts_(on.size()),
      id_(params.registry->next_id()),
      shard_handles_(on.size()),
      states_(on.size(), connectivity::idle),
      trace_(on.at(0).wall_now()) {
  for (call_counts& c : counts_) {
    if (options.throttling) c.throttle = std::make_unique<call_throttle>();
    c.budget = options.retry_budget.get();
  }
  if (!to.by) latest_ = snapshot_of(to.known, nullptr);
  if (!to.bad.ok()) trace_.add(trace_.made(), to.bad.message(), severity::error);
  for (const auto& i : options.interceptors)
    CORACLE_REQUIRE(i, "channel_options::interceptors has a null pointer");
  CORACLE_REQUIRE(options.protocol != call_protocol::grpc || options.http_version == http_version::http2,
                  "gRPC requires HTTP/2: set channel_options::protocol to grpc_web or connect for HTTP/1.1");
  CORACLE_REQUIRE(options.protocol != call_protocol::rest || options.rest.table(),
                  "call_protocol::rest requires channel_options::rest, the methods with their routes");
}

channel_state::~channel_state() { params.registry->remove(id_); }

std::shared_ptr<call_channel> channel_state::open(std::shared_ptr<channel_state> made) {
  channel_state& opened = *made;
  opened.params.registry->add(opened.id_, made);
  std::shared_ptr<call_channel> handle(&opened, [held = std::move(made)](call_channel*) mutable noexcept {
    std::exchange(held, nullptr)->retire();
  });
  opened.handle_ = handle;
  return handle;
}

// --- shards and the channel_resolver

void channel_state::begin(call_attempt& a) noexcept {
  loop& current = *a.terms().owner_loop;
  if (shard* s = shards_[current.index()]) [[likely]]
    return s->begin(a);
  a.fail(end_reason(), refusal::final);
}

void channel_state::set_up(call_setup& setup, std::string_view method, loop& current) {
  setup.observer = observer_ ? &observer_ : nullptr;
  const bool open = &current.owner() == open_on_.load(std::memory_order_relaxed);
  const shard* const s = open ? shard_on(current) : nullptr;
  if (!s) [[unlikely]] {
    setup.refused = true;
    return;
  }
  setup.secure_authority = secure_authority();
  setup.may_get_config = to.by != nullptr;
  setup.counts = &counts_[current.index()];
  s->configure(setup, method);
}

status channel_state::refusal(loop& current) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!refuses() && &current.owner() != &runtime_)
      return status::internal(
          "the channel belongs to another runtime: construct it with the runtime whose loop makes the call");
  }
  return end_reason();
}

status channel_state::end_reason() const {
  const std::lock_guard lock(mutex_);
  if (ended_) return status::unavailable("the runtime of the channel has ended");
  if (closed_ || retiring_) return status::unavailable("the channel was closed");
  return status::unavailable("the runtime of the channel is stopping");
}

bool channel_state::wait_for_config(call_attempt& a) noexcept {
  shard* const s = shards_[a.terms().owner_loop->index()];
  return s && s->wait_for_config(a);
}

loop& channel_state::blocking_loop() {
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) return runtime_.at(0);
  }
  return runtime_internal::background_runtime().at(0);
}

bool channel_state::runtime_has_ended() noexcept {
  if (open_on_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(mutex_);
  return ended_;
}

// The loops run what was posted before runtime_ended().
bool channel_state::post(loop& where, coro::runnable& w) noexcept {
  const std::lock_guard lock(mutex_);
  if (ended_) return false;
  where.post(w);
  return true;
}

runtime& channel_state::owner() const {
  const std::lock_guard lock(mutex_);
  CORACLE_REQUIRE(!ended_, "the runtime of the channel has ended");
  return runtime_;
}

std::shared_ptr<const auth_context> channel_state::server_auth() {
  loop* const here = loop::current();
  if (!here || open_on_.load(std::memory_order_acquire) != &here->owner()) return nullptr;
  const shard* const mine = shards_[here->index()];
  return mine ? mine->server_auth() : nullptr;
}

shard* channel_state::shard_on(loop& current) {
  shard* const mine = shards_[current.index()];
  return mine ? mine : make_shard(current);
}

// The resolver comes first, because a shard without one would never be told. If there is memory for only the
// resolver, the next call makes the shard.
shard* channel_state::make_shard(loop& current) {
  shard*& mine = shards_[current.index()];
  channel_resolver* made_first = nullptr;
  bool enough = false;
  {
    const std::lock_guard lock(mutex_);
    if (refuses() || runtime_.stopping()) return nullptr;
    auto made = std::make_unique<shard>(shared_from_this(), current, counts_[current.index()], latest_);
    shard* const to_start = made.get();
    if (to.by && !resolver_handle_) {
      auto made_resolver = std::make_unique<channel_resolver>(shared_from_this(), current);
      made_first = made_resolver.get();
      resolver_handle_ = runtime_internal::loop_service::start(current, std::move(made_resolver));
      resolver_alive_ = true;
    }
    enough = base::if_memory_allows([&] {
      shard_handles_[current.index()] = runtime_internal::loop_service::start(current, std::move(made));
    });
    if (enough) {
      mine = to_start;
      ++shards_alive_;
    }
  }
  if (made_first) made_first->start();  // it may publish at once
  if (!enough) throw std::bad_alloc();
  return mine;
}

void channel_state::forget(loop& where) noexcept {
  shards_[where.index()] = nullptr;
  report(where, connectivity::shutdown);
}

// If a stopped runtime continues, the next shard makes a new one.
void channel_state::forget_resolver() noexcept {
  const std::lock_guard lock(mutex_);
  resolver_handle_.reset();
}

void channel_state::resolver_ended() noexcept {
  const std::lock_guard lock(mutex_);
  resolver_alive_ = false;
  notify_waiting();
}

void channel_state::shard_ended() noexcept {
  const std::lock_guard lock(mutex_);
  if (--shards_alive_ == 0 && retiring_) on_last_shard_ended();
  notify_waiting();
}

bool channel_state::all_ended() const noexcept {
  const std::lock_guard lock(mutex_);
  return shards_alive_ == 0 && !resolver_alive_;
}

void channel_state::close() noexcept {
  params.registry->hide(id_);
  const std::lock_guard lock(mutex_);
  open_on_.store(nullptr, std::memory_order_relaxed);
  closed_ = retiring_ = true;
  for (const auto& shard_handle : shard_handles_)
    if (shard_handle) shard_handle->request_shutdown();
  if (resolver_handle_) resolver_handle_->request_shutdown();
  set_state(connectivity::shutdown);
}

void channel_state::begin_shutdown() noexcept {
  const std::lock_guard lock(mutex_);
  shutting_down_ = true;
  request_retirement();
  set_state(connectivity::shutdown);
}

void channel_state::retire() noexcept {
  const std::lock_guard lock(mutex_);
  request_retirement();
}

// The resolver stays as long as calls may wait for its result.
void channel_state::request_retirement() noexcept {
  open_on_.store(nullptr, std::memory_order_relaxed);
  retiring_ = true;
  for (const auto& shard_handle : shard_handles_)
    if (shard_handle) shard_handle->request_retirement();
  if (shards_alive_ == 0) on_last_shard_ended();
}

void channel_state::on_last_shard_ended() noexcept {
  if (resolver_handle_) resolver_handle_->request_shutdown();
  set_state(connectivity::shutdown);
}

void channel_state::runtime_ended() noexcept {
  params.registry->hide(id_);
  const std::lock_guard lock(mutex_);
  open_on_.store(nullptr, std::memory_order_relaxed);
  ended_ = true;
  set_state(connectivity::shutdown);
}

void channel_state::connect() {
  loop* const current = loop::current();
  if (current && &current->owner() == open_on_.load(std::memory_order_relaxed)) {
    if (shard* s = shard_on(*current)) s->exit_idle();
    return;
  }
  const std::lock_guard lock(mutex_);
  if (refuses()) return;
  coro::post_function(runtime_.at(0), [self = shared_from_this()] {
    // Without memory the state stays IDLE, and the next call begins to connect.
    base::if_memory_allows([&] {
      if (shard* s = self->shard_on(*loop::current())) s->exit_idle();
    });
  });
}

// --- publishing

std::shared_ptr<const snapshot> channel_state::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

std::shared_ptr<shared_by_loops> channel_state::shared(std::string_view name, shared_by_loops_maker make,
                                                       std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  return shared_.get(name, make, seed);
}

std::shared_ptr<const snapshot> channel_state::snapshot_of(const resolution& found, const snapshot* before) {
  auto made = std::make_shared<snapshot>();
  made->servers = found.endpoints();
  if (made->servers.size() > resolution::endpoints_max)
    made->servers.erase(made->servers.begin() + resolution::endpoints_max, made->servers.end());
  if (made->servers.empty() && !found.routing())
    made->outcome = status::unavailable("the resolver returned no servers");
  made->config = options.service_config;
  if (!found.service_config().empty()) {
    auto parsed = service_config::parse(found.service_config());
    // gRFC A21: an earlier valid config stays in effect; without one all calls fail.
    if (parsed) made->config = *std::move(parsed);
    else
      runtime_.log().write(log_room::client, log_level::warning,
                           to.name + ": " + parsed.status().to_string());
    if (!parsed) trace_.add(runtime_.at(0).wall_now(), parsed.status().message(), severity::error);
    if (!parsed && before && before->outcome.ok()) made->config = before->config;
    else if (!parsed) made->outcome = status::unavailable(parsed.status().message());
  }
  const method_configs* const tokens = before && before->methods ? before->methods.get() : own_methods.get();
  const bool same = before ? before->config == made->config : made->config == options.service_config;
  if (!same) made->methods = methods_of(made->config, tokens, options.retries);
  else made->methods = before ? before->methods : own_methods;
  made->balancing_policy =
      found.routing() ? found.routing()->policy : made->config.data().balance.value_or(options.balance);
  if (found.routing()) made->router = found.routing()->router;
  made->connections_max =
      options.http_version == http_version::http1
          ? std::clamp(options.http1_connections_per_server, 1u, channel_options::http1_connections_limit)
          : std::min(made->config.data().connections_max.value_or(options.connections_per_server),
                     channel_options::connections_limit);
  return made;
}

// As grpc-go words them (gRFC A3).
void channel_state::trace_changes(const snapshot& next) {
  const bool first = !latest_ || !latest_->outcome.ok();
  const service_config& config = first ? options.service_config : latest_->config;
  const balancing policy =
      first ? config.data().balance.value_or(options.balance) : latest_->balancing_policy;
  const wall_time now = runtime_.at(0).wall_now();
  if (!(config == next.config)) trace_.add(now, "service config updated");
  const std::string_view name = next.balancing_policy.config().name();
  if (policy.config().name() != name)
    trace_.add(now, "Channel switches to new LB policy \"" + std::string(name) + '"');
}

void channel_state::publish(resolution found) {
  if (found.endpoints().size() > resolution::endpoints_max)
    runtime_.log().write(log_room::client, log_level::warning,
                         to.name + ": the resolver returned " + std::to_string(found.endpoints().size()) +
                             " servers, limit " + std::to_string(resolution::endpoints_max) +
                             ": the rest is ignored");
  const std::lock_guard lock(mutex_);
  auto made = snapshot_of(found, latest_.get());
  if (!latest_ || latest_->servers.size() != made->servers.size())
    trace_.add(runtime_.at(0).wall_now(),
               "the resolver returned " + std::to_string(made->servers.size()) + " servers");
  // A result without servers does not replace an earlier one that has some.
  if (!made->outcome.ok() && latest_ && latest_->outcome.ok()) return;
  if (made->outcome.ok()) trace_changes(*made);
  latest_ = std::move(made);
  update_shards();
}

void channel_state::publish_failure(const status& reason) {
  const std::lock_guard lock(mutex_);
  trace_.add(runtime_.at(0).wall_now(), reason.message(), severity::warning);
  if (latest_ && latest_->outcome.ok()) return;
  auto made = std::make_shared<snapshot>();
  made->outcome = reason;
  latest_ = std::move(made);
  update_shards();
}

void channel_state::update_shards() noexcept {
  for (const auto& shard_handle : shard_handles_)
    if (shard_handle) shard_handle->notify();
}

void channel_state::resolve_again() noexcept {
  if (!to.by) return;
  const std::lock_guard lock(mutex_);
  if (resolver_handle_) resolver_handle_->notify();
}

// --- connectivity

void channel_state::report(loop& where, connectivity c) noexcept {
  const std::lock_guard lock(mutex_);
  states_[where.index()] = c;
  if (closed_ || shutting_down_) return;
  // The best state of a loop. A loop that fails takes precedence over one that is idle.
  for (const connectivity best :
       {connectivity::ready, connectivity::connecting, connectivity::transient_failure, connectivity::idle}) {
    if (std::find(states_.begin(), states_.end(), best) == states_.end()) continue;
    if (set_state(best)) trace_.add(where.wall_now(), name_of(best), severity_of(best));
    return;
  }
  set_state(connectivity::shutdown);
}

bool channel_state::set_state(connectivity c) noexcept {
  if (state_.exchange(c, std::memory_order_acq_rel) == c) return false;
  notify_waiting();
  return true;
}

void channel_state::notify_waiting() noexcept {
  waiting_.for_each([](change_wait& w) { w.changed_.set(); });
}

change_wait::change_wait(std::shared_ptr<channel_state> of) : of_(std::move(of)) {
  const std::lock_guard lock(of_->mutex_);
  of_->waiting_.push_back(*this);
}

change_wait::~change_wait() {
  const std::lock_guard lock(of_->mutex_);
  list_hook::unlink();
}

task<> change_wait::changed() { co_await changed_; }

task<bool> wait_for_change(std::shared_ptr<channel_state> of, connectivity from, duration at_most) {
  const time_point end = deadline_after(coro::this_executor().now(), at_most);
  change_wait mine(of);
  while (of->current() == from) {
    const duration left = end - coro::this_executor().now();
    if (left <= duration::zero()) co_return false;
    task<> change = mine.changed();
    const status change_observed = co_await with_timeout(left, std::move(change));
    if (!change_observed.ok()) co_return of->current() != from;
    mine.reset();
  }
  co_return true;
}

task<> shut_down(std::shared_ptr<channel_state> of) {
  of->begin_shutdown();
  change_wait mine(of);
  while (!of->all_ended()) {
    co_await mine.changed();
    mine.reset();
  }
}

// --- for channelz

namespace {

// Shared by the loops; the last one notifies the waiting loop, for which it needs no memory.
struct gathering : coro::runnable {
  gathering(std::size_t loops, coro::executor& owner) : left(loops), owner_loop(owner), parts(loops) {
    run = [](coro::runnable& w) noexcept {
      const auto held = std::exchange(static_cast<gathering&>(w).posted, nullptr);
      held->done.set();
    };
  }
  std::atomic<std::size_t> left;
  coro::executor& owner_loop;
  std::vector<rpc::channel_snapshot> parts;
  std::shared_ptr<gathering> posted;  // this, while it is in the queue of the waiting loop
  event<> done;
};

void add(rpc::channel_snapshot& to, rpc::channel_snapshot& part) {
  to.calls_started += part.calls_started;
  to.calls_succeeded += part.calls_succeeded;
  to.calls_failed += part.calls_failed;
  to.last_call_started = std::max(to.last_call_started, part.last_call_started);
  std::move(part.subchannels.begin(), part.subchannels.end(), std::back_inserter(to.subchannels));
}

void count(rpc::channel_snapshot& to, const call_counts& from, loop& owner_loop) {
  to.calls_started = from.started;
  to.calls_succeeded = from.succeeded;
  to.calls_failed = from.failed;
  to.last_call_started = rpc::to_wall_time(owner_loop, from.last_started);
}

}  // namespace

void channel_state::record_event(loop& where, std::string_view text, severity level,
                                 std::uint64_t subchannel) noexcept {
  const std::lock_guard lock(mutex_);
  trace_.add(where.wall_now(), text, level, subchannel);
}

connection_bytes channel_state::bytes() const noexcept {
  const loop* const here = loop::current();
  if (!here || &here->owner() != open_on_.load()) return {};
  const shard* const s = shards_[here->index()];
  return s ? s->bytes() : connection_bytes();
}

task<rpc::channel_snapshot> channel_state::stats(std::uint64_t detailed) {
  const std::shared_ptr<channel_state> alive = shared_from_this();
  std::vector<std::shared_ptr<runtime_internal::loop_service_handle>> shard_handles;
  {
    const std::lock_guard lock(mutex_);
    shard_handles = shard_handles_;
  }
  const std::size_t n = shard_handles.size();
  auto all = std::make_shared<gathering>(n, coro::this_executor());
  for (std::size_t i = 0; i < n; ++i) {
    const bool there = shard_handles[i] && shard_handles[i]->run_on_loop([alive, i, all, detailed] {
      count(all->parts[i], alive->counts_[i], *loop::current());
      // Without memory, some subchannels of this loop are left out.
      base::if_memory_allows([&] {
        if (const shard* s = alive->shards_[i]) s->add_to(all->parts[i], detailed);
      });
      if (all->left.fetch_sub(1) != 1) return;
      all->posted = all;  // until the loop has run it, which a loop does with all that was posted
      all->owner_loop.post(*all);
    });
    if (!there && all->left.fetch_sub(1) == 1) all->done.set();
  }
  co_await all->done;
  rpc::channel_snapshot whole;
  whole.id = id_;
  whole.target = to.name;
  whole.state = name_of(current());
  {
    const std::lock_guard lock(mutex_);
    whole.trace = trace_;
    if (latest_) whole.connections_max = latest_->connections_max;
  }
  for (rpc::channel_snapshot& part : all->parts) add(whole, part);
  std::sort(whole.subchannels.begin(), whole.subchannels.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  co_return whole;
}

}  // namespace coracle::client
