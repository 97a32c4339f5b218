#include "server/server_state.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/coro/scope.hpp"
#include "runtime/runtime_core.hpp"
#include "server/connection_rules.hpp"
#include "server/shard.hpp"

#include <new>
#include <utility>

namespace coracle::server_internal {

server_state::server_state(runtime& on, const server_options& o)
    : owner(on),
      options(o),
      rules(connection_rules(o)),
      memory(quota_for(on, o.limits())),
      loads_(on.size()),
      asked_for_room_(on.size()) {
  for (const message_codec* c : options.codecs()) routes.subtypes.add(*c);
  routes.encodings = options.accepted_encodings();
  if (options.observer()) routes.keep_unknown_paths();
}

void server_state::settle() {
  join_quota();
  for (std::size_t i = 0; i < owner.size(); ++i) {
    auto made = std::make_unique<shard>(shared_from_this(), owner.at(i));
    shards_.push_back(made.get());
    doors_.push_back(runtime_internal::resident::settle(owner.at(i), std::move(made)));
  }
}

void server_state::request_stop() noexcept {
  with_shard(0, [this](shard* s) {
    if (!s || told_to_stop_.is_set()) return;
    told_to_stop_.set();
    if (!serving_) owner.spawn_on(owner.at(0), drain_as_told());
  });
}

void server_state::hold_termination() {
  if (!owner.at(0).io().takes_descriptors()) return;  // a simulation's signals begin with its loops
  {
    const std::lock_guard held(holding_);
    held_termination_ = std::make_unique<runtime_internal::kernel::held_termination>();
  }
  with_shard(0, [this](shard*) {
    if (!runs_) give_back_termination();
  });
}

bool server_state::take_termination() noexcept {
  const std::lock_guard held(holding_);
  const bool came = held_termination_ && held_termination_->take();
  held_termination_.reset();
  return came;
}

void server_state::give_back_termination() noexcept {
  const std::lock_guard held(holding_);
  held_termination_.reset();
}

void server_state::hurry() noexcept {
  for (std::size_t i = 0; i < size(); ++i)
    with_shard(i, [](shard* s) {
      if (s) s->hurry();
    });
}

void server_state::close() noexcept {
  give_back_termination();
  for (const auto& door : doors_) door->ask_to_leave();
  for (const auto& door : doors_)
    if (!door->gone.is_set()) owner.core().wait(door->gone);
}

namespace {

// Shared by the shards' drains; the last one tells the loop that waits, which takes no memory.
struct all_drained : coro::work {
  all_drained(std::size_t n, coro::executor& on) noexcept : left(n), home(on) {
    run = [](coro::work& w) noexcept {
      auto& self = static_cast<all_drained&>(w);
      const std::shared_ptr<all_drained> alive = std::move(self.posted);
      self.done.set();
    };
  }
  std::atomic<std::size_t> left;
  coro::executor& home;
  event<> done{};
  std::shared_ptr<all_drained> posted;
};

void one_is_drained(const std::shared_ptr<all_drained>& all) noexcept {
  if (all->left.fetch_sub(1) != 1) return;
  all->posted = all;
  all->home.post(*all);
}

task<> drain_one(std::shared_ptr<server_state> of, loop& where, duration grace,
                 std::shared_ptr<all_drained> all) {
  try {
    if (shard* s = of->shard_of(where)) co_await s->drain(grace);
  } catch (const coro::cancelled&) {
    // The runtime stops: the shard leaves by itself.
  } catch (const std::bad_alloc&) {
    if (shard* s = of->shard_of(where)) s->hurry();
  }
  one_is_drained(all);
}

}  // namespace

task<> server_state::drain(duration grace) {
  if (!draining.exchange(true))
    for (service* s : routes.services()) s->draining();
  auto all = std::make_shared<all_drained>(size(), coro::this_executor());
  for (std::size_t i = 0; i < size(); ++i) {
    const bool there = with_shard(i, [this, i, grace, all](shard* s) {
      loop& where = owner.at(i);
      const bool begun = base::if_memory_allows(
          [&] { owner.spawn_on(where, drain_one(shared_from_this(), where, grace, all)); });
      if (begun) return;
      if (s) s->hurry();
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
  if (take_termination()) told_to_stop_.set();  // from now on, the watch sees them
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

}  // namespace coracle::server_internal
