#include "client/channel_state.hpp"

#include "client/channel_home.hpp"
#include "client/client_head.hpp"
#include "client/service_config_data.hpp"
#include "client/shard.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coro/post_function.hpp"
#include "rpc/channel_registry.hpp"
#include "runtime/background_runtime.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

namespace coracle::client {

namespace {

// Invalid credentials fail every call, as an invalid target does.
destination checked(destination to, const channel_credentials& credentials) {
  if (to.bad.ok() && !credentials.failure().ok()) {
    std::string text = "cannot connect to " + to.name;
    text.append(": ").append(credentials.failure().message());
    to.bad = status::unavailable(text);
  }
  to.authority = security::authority_of(credentials, to.authority);
  return to;
}

connecting connecting_for(runtime& on, const destination& to, std::shared_ptr<dialer> by,
                          channel_credentials credentials, const channel_options& o) {
  connecting how;
  how.registry = rpc::channel_registry::of(on);
  how.credentials = std::move(credentials);
  how.in_process = to.in_process;
  how.proof = o.calls().credentials();
  how.authority = to.authority;
  how.by = std::move(by);
  how.name = to.name;
  how.connection.http2.keepalive = {o.keepalive_time(), o.keepalive_timeout(), o.keepalive_without_calls()};
  how.connection.http2.own_open_streams = o.streams_per_connection();
  return how;
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
      user_agent(options.user_agent().empty() ? std::string()
                                              : options.user_agent() + " " + library_user_agent()),
      target{security::scheme_of(credentials), to.authority, this, user_agent},
      how(connecting_for(on, to, std::move(by), std::move(credentials), options)),
      own_methods(methods_of(options.service_config(), nullptr, options.retries())),
      open_on_(&on),
      call_defaults_(options.calls() == call_options() ? nullptr : &options.calls()),
      observer_(options.observer() ? &options.observer() : nullptr),
      runtime_(on),
      shards_(on.size(), nullptr),
      counts_(on.size()),
      id_(how.registry->next_id()),
      doors_(on.size()),
      states_(on.size(), connectivity::idle),
      trace_(on.at(0).wall_now()) {
  if (!to.by) latest_ = snapshot_of(to.known, nullptr);
  for (const auto& i : options.interceptors())
    CORACLE_REQUIRE(i, "channel_options::interceptors() has a null pointer");
}

channel_state::~channel_state() { how.registry->remove(id_); }

std::shared_ptr<call_channel> channel_state::open(std::shared_ptr<channel_state> made) {
  channel_state& opened = *made;
  opened.how.registry->add(opened.id_, made);
  std::shared_ptr<call_channel> handle(&opened, [held = std::move(made)](call_channel*) mutable noexcept {
    std::exchange(held, nullptr)->retire();
  });
  opened.handle_ = handle;
  return handle;
}

// --- shards and the channel_home

void channel_state::begin(call_attempt& a) noexcept {
  loop& current = *a.terms().home;
  if (shard* s = shards_[current.index()]) [[likely]]
    return s->begin(a);
  a.fail(end_reason(), refusal::final);
}

void channel_state::set_up(call_setup& setup, std::string_view method, loop& current) noexcept {
  setup.observer = observer_;
  const bool open = &current.owner() == open_on_.load(std::memory_order_relaxed);
  const shard* const s = open ? here(current) : nullptr;
  if (!s) [[unlikely]] {
    setup.refused = true;
    return;
  }
  setup.secure_authority = secure_authority();
  setup.config_may_come = to.by != nullptr;
  setup.counts = &counts_[current.index()];
  setup.config = s->config_for(method);
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
  shard* const s = shards_[a.terms().home->index()];
  return s && s->wait_for_config(a);
}

loop& channel_state::blocking_home() {
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) return runtime_.at(0);
  }
  return runtime_internal::background_runtime().at(0);
}

runtime& channel_state::owner() const {
  const std::lock_guard lock(mutex_);
  CORACLE_REQUIRE(!ended_, "the runtime of the channel has ended");
  return runtime_;
}

shard* channel_state::here(loop& current) {
  shard* const mine = shards_[current.index()];
  return mine ? mine : make_shard(current);
}

shard* channel_state::make_shard(loop& current) {
  shard*& mine = shards_[current.index()];
  channel_home* home = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (refuses() || runtime_.stopping()) return nullptr;
    auto made = std::make_unique<shard>(shared_from_this(), current, counts_[current.index()], latest_);
    mine = made.get();
    ++shards_alive_;
    doors_[current.index()] = runtime_internal::resident::settle(current, std::move(made));
    if (to.by && !home_door_) {
      auto made_home = std::make_unique<channel_home>(shared_from_this(), current);
      home = home_ = made_home.get();
      home_alive_ = true;
      home_door_ = runtime_internal::resident::settle(current, std::move(made_home));
    }
  }
  if (home) home->start();  // it may publish at once
  return mine;
}

void channel_state::forget(loop& where) noexcept {
  shards_[where.index()] = nullptr;
  report(where, connectivity::shutdown);
}

// If a stopped runtime continues, the next shard makes a new one.
void channel_state::forget_home() noexcept {
  home_ = nullptr;
  const std::lock_guard lock(mutex_);
  home_door_.reset();
}

void channel_state::home_left() noexcept {
  const std::lock_guard lock(mutex_);
  home_alive_ = false;
  tell_waiting();
}

void channel_state::shard_left() noexcept {
  const std::lock_guard lock(mutex_);
  if (--shards_alive_ == 0 && retiring_) last_left();
  tell_waiting();
}

bool channel_state::all_left() const noexcept {
  const std::lock_guard lock(mutex_);
  return shards_alive_ == 0 && !home_alive_;
}

void channel_state::close() noexcept {
  how.registry->hide(id_);
  const std::lock_guard lock(mutex_);
  open_on_.store(nullptr, std::memory_order_relaxed);
  closed_ = retiring_ = true;
  for (const auto& door : doors_)
    if (door) door->ask_to_leave();
  if (home_door_) home_door_->ask_to_leave();
  set_state(connectivity::shutdown);
}

void channel_state::begin_shutdown() noexcept {
  const std::lock_guard lock(mutex_);
  shutting_down_ = true;
  ask_to_retire();
  set_state(connectivity::shutdown);
}

void channel_state::retire() noexcept {
  const std::lock_guard lock(mutex_);
  ask_to_retire();
}

// The home stays as long as calls may wait for what it finds.
void channel_state::ask_to_retire() noexcept {
  open_on_.store(nullptr, std::memory_order_relaxed);
  retiring_ = true;
  for (const auto& door : doors_)
    if (door) door->ask_to_retire();
  if (shards_alive_ == 0) last_left();
}

void channel_state::last_left() noexcept {
  if (home_door_) home_door_->ask_to_leave();
  set_state(connectivity::shutdown);
}

void channel_state::runtime_ended() noexcept {
  how.registry->hide(id_);
  const std::lock_guard lock(mutex_);
  open_on_.store(nullptr, std::memory_order_relaxed);
  ended_ = true;
  set_state(connectivity::shutdown);
}

void channel_state::connect() {
  loop* const current = loop::current();
  if (current && &current->owner() == open_on_.load(std::memory_order_relaxed)) {
    if (shard* s = here(*current)) s->wake();
    return;
  }
  const std::lock_guard lock(mutex_);
  if (refuses()) return;
  coro::post_function(runtime_.at(0), [self = shared_from_this()] {
    if (shard* s = self->here(*loop::current())) s->wake();
  });
}

// --- publishing

std::shared_ptr<const snapshot> channel_state::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

std::shared_ptr<const snapshot> channel_state::snapshot_of(const resolution& found,
                                                           const snapshot* before) const {
  auto made = std::make_shared<snapshot>();
  made->servers = found.endpoints();
  if (made->servers.size() > resolution::endpoints_max)
    made->servers.erase(made->servers.begin() + resolution::endpoints_max, made->servers.end());
  if (made->servers.empty()) made->why = status::unavailable("the resolver returned no servers");
  made->config = options.service_config();
  if (!found.service_config().empty()) {
    auto parsed = service_config::parse(found.service_config());
    // gRFC A21: an earlier valid config stays in effect; without one all calls fail.
    if (parsed) made->config = *std::move(parsed);
    else runtime_.log().write(log_level::warning, to.name + ": " + parsed.status().to_string());
    if (!parsed && before && before->why.ok()) made->config = before->config;
    else if (!parsed) made->why = status::unavailable(parsed.status().message());
  }
  const method_configs* const tokens = before && before->methods ? before->methods.get() : own_methods.get();
  const bool same = before ? before->config == made->config : made->config == options.service_config();
  if (!same) made->methods = methods_of(made->config, tokens, options.retries());
  else made->methods = before ? before->methods : own_methods;
  made->how = made->config.data().balance.value_or(options.balance());
  made->connections_max =
      std::min(made->config.data().connections_max.value_or(options.connections_per_server()),
               channel_options::connections_limit);
  return made;
}

void channel_state::publish(resolution found) {
  if (found.endpoints().size() > resolution::endpoints_max)
    runtime_.log().write(log_level::warning, to.name + ": the resolver returned " +
                                              std::to_string(found.endpoints().size()) + " servers, limit " +
                                              std::to_string(resolution::endpoints_max) +
                                              ": the rest is ignored");
  const std::lock_guard lock(mutex_);
  auto made = snapshot_of(found, latest_.get());
  // A result without servers does not replace an earlier one that has some.
  if (!made->why.ok() && latest_ && latest_->why.ok()) return;
  latest_ = std::move(made);
  tell_shards();
}

void channel_state::publish_failure(const status& why) {
  const std::lock_guard lock(mutex_);
  if (latest_ && latest_->why.ok()) return;
  auto made = std::make_shared<snapshot>();
  made->why = why;
  latest_ = std::move(made);
  tell_shards();
}

void channel_state::tell_shards() {
  for (std::size_t i = 0; i < doors_.size(); ++i) {
    if (!doors_[i]) continue;
    doors_[i]->run_there([self = shared_from_this(), i] {
      if (shard* s = self->shards_[i]) s->update();
    });
  }
}

void channel_state::resolve_again() noexcept {
  if (!to.by) return;
  const std::lock_guard lock(mutex_);
  if (!home_door_) return;
  home_door_->run_there([self = shared_from_this()] {
    if (self->home_) self->home_->want();
  });
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
    if (set_state(best)) trace_.add(where.wall_now(), name_of(best));
    return;
  }
  set_state(connectivity::shutdown);
}

bool channel_state::set_state(connectivity c) noexcept {
  if (state_.exchange(c, std::memory_order_acq_rel) == c) return false;
  tell_waiting();
  return true;
}

void channel_state::tell_waiting() noexcept {
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
    const status told = co_await with_timeout(left, std::move(change));
    if (!told.ok()) co_return of->current() != from;
    mine.reset();
  }
  co_return true;
}

task<> shut_down(std::shared_ptr<channel_state> of) {
  of->begin_shutdown();
  change_wait mine(of);
  while (!of->all_left()) {
    co_await mine.changed();
    mine.reset();
  }
}

// --- for channelz

namespace {

// Shared by the loops; the last one notifies the waiting loop.
struct gathering {
  std::atomic<std::size_t> left;
  coro::executor& home;
  std::vector<rpc::channel_snapshot> parts;
  event<> done{};
};

void add(rpc::channel_snapshot& to, rpc::channel_snapshot& part) {
  to.calls_started += part.calls_started;
  to.calls_succeeded += part.calls_succeeded;
  to.calls_failed += part.calls_failed;
  to.last_call_started = std::max(to.last_call_started, part.last_call_started);
  std::move(part.subchannels.begin(), part.subchannels.end(), std::back_inserter(to.subchannels));
}

void count(rpc::channel_snapshot& to, const call_counts& from, loop& home) {
  to.calls_started = from.started;
  to.calls_succeeded = from.succeeded;
  to.calls_failed = from.failed;
  to.last_call_started = rpc::on_the_wall(home, from.last_started);
}

}  // namespace

void channel_state::note(loop& where, std::string_view what, std::uint64_t subchannel) noexcept {
  const std::lock_guard lock(mutex_);
  trace_.add(where.wall_now(), what, rpc::traced_event::severity::info, subchannel);
}

task<rpc::channel_snapshot> channel_state::figures() {
  const std::shared_ptr<channel_state> alive = shared_from_this();
  std::vector<std::shared_ptr<runtime_internal::residence>> doors;
  {
    const std::lock_guard lock(mutex_);
    doors = doors_;
  }
  const std::size_t n = doors.size();
  auto all = std::make_shared<gathering>(n, coro::this_executor(), std::vector<rpc::channel_snapshot>(n));
  for (std::size_t i = 0; i < n; ++i) {
    const bool there = doors[i] && doors[i]->run_there([alive, i, all] {
      count(all->parts[i], alive->counts_[i], *loop::current());
      if (const shard* s = alive->shards_[i]) s->add_to(all->parts[i]);
      if (all->left.fetch_sub(1) == 1) coro::post_function(all->home, [all] { all->done.set(); });
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
  }
  for (rpc::channel_snapshot& part : all->parts) add(whole, part);
  std::sort(whole.subchannels.begin(), whole.subchannels.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  co_return whole;
}

}  // namespace coracle::client
