// How a server's figures are gathered from its loops.
#include "rpc/take_snapshot.hpp"
#include "server/server_state.hpp"
#include "server/shard.hpp"

#include "coro/post_function.hpp"

#include <algorithm>
#include <utility>

namespace coracle::server_internal {

namespace {

// Shared with the loops; the last one tells the loop that waits.
struct gathering {
  std::atomic<std::size_t> left;
  coro::executor& home;
  std::vector<server_snapshot> parts;
  event<> done{};
};

void add(server_snapshot& to, server_snapshot& part) {
  to.calls_started += part.calls_started;
  to.calls_succeeded += part.calls_succeeded;
  to.calls_failed += part.calls_failed;
  to.last_call_started = std::max(to.last_call_started, part.last_call_started);
  std::move(part.listeners.begin(), part.listeners.end(), std::back_inserter(to.listeners));
  std::move(part.connections.begin(), part.connections.end(), std::back_inserter(to.connections));
}

}  // namespace

server_snapshot shard::snapshot() const {
  server_snapshot s;
  s.calls_started = calls_started_;
  s.calls_succeeded = succeeded;
  s.calls_failed = failed;
  s.last_call_started = rpc::on_the_wall(home_, last_call_started_);
  for (const auto& e : entrances_) {
    s.listeners.emplace_back();
    s.listeners.back().id = e->id();
    s.listeners.back().local = e->local_address();
  }
  for (const auto& [c, kept] : connections_) {
    s.connections.push_back(rpc::take_snapshot(home_, kept.id, *c));
    s.last_call_started = std::max(s.last_call_started, s.connections.back().last_stream_started);
  }
  return s;
}

task<server_snapshot> server_state::snapshot() {
  const std::shared_ptr<server_state> alive = shared_from_this();
  auto all = std::make_shared<gathering>(size(), coro::this_executor(), std::vector<server_snapshot>(size()));
  for (std::size_t i = 0; i < size(); ++i) {
    const bool there = with_shard(i, [i, all](shard* s) {
      if (s) all->parts[i] = s->snapshot();
      if (all->left.fetch_sub(1) == 1) coro::post_function(all->home, [all] { all->done.set(); });
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

}  // namespace coracle::server_internal
