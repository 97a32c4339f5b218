// How a channel's figures are gathered from its loops.
#include "client/channel_state.hpp"
#include "client/shard.hpp"
#include "coracle/coro/event.hpp"
#include "coro/post_function.hpp"
#include "rpc/take_snapshot.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

namespace coracle::client {

namespace {

// Shared with the loops; the last one tells the loop that waits.
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

void channel_state::show() { how.registry->add(id_, std::static_pointer_cast<rpc::shown_channel>(self())); }

void channel_state::note(loop& where, std::string_view what, std::uint64_t subchannel) noexcept {
  const std::lock_guard lock(mutex_);
  trace_.add(where.wall_now(), what, rpc::traced_event::severity::info, subchannel);
}

task<rpc::channel_snapshot> channel_state::figures() {
  const std::shared_ptr<channel_state> alive = self();
  std::vector<std::shared_ptr<runtime_internal::residence>> doors;
  {
    const std::lock_guard lock(mutex_);
    doors = doors_;
  }
  const std::size_t n = doors.size();
  auto all = std::make_shared<gathering>(n, coro::this_executor(), std::vector<rpc::channel_snapshot>(n));
  for (std::size_t i = 0; i < n; ++i) {
    const bool there = doors[i] && doors[i]->run_there([alive, i, all] {
      count(all->parts[i], alive->counts_[i], alive->owner.at(i));
      if (const shard* s = alive->shards_[i]) s->add_to(all->parts[i]);
      if (all->left.fetch_sub(1) == 1) coro::post_function(all->home, [all] { all->done.set(); });
    });
    if (!there && all->left.fetch_sub(1) == 1) all->done.set();
  }
  co_await all->done;
  rpc::channel_snapshot whole;
  whole.id = id_;
  whole.target = to.name;
  whole.state = name_of(state());
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
