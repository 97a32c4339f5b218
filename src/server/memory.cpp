// How large a server's memory_quota is, and how the server keeps within it.
#include "base/if_memory_allows.hpp"
#include "runtime/backend.hpp"
#include "runtime/memory_limit.hpp"
#include "server/server_state.hpp"
#include "server/shard.hpp"

#include <algorithm>
#include <mutex>
#include <string>

namespace coracle::server_internal {

namespace {
constexpr duration relief_interval = std::chrono::milliseconds(50);

// The last eighth is for what is under way and not counted: replies that are being written, the heap's own waste.
constexpr std::size_t closing_bytes(std::size_t limit) noexcept { return limit / 8 * 7; }
constexpr std::size_t pressing_bytes(std::size_t limit) noexcept { return limit / 8 * 5; }

constexpr std::uint64_t default_quota_bytes_max = std::uint64_t{1} << 30;
}  // namespace

memory_quota quota_for(runtime& on, const server_limits& limits) {
  if (limits.memory()) return *limits.memory();
  // A simulated world does not depend on the machine that it runs on.
  const bool real = on.at(0).io().takes_descriptors();
  const runtime_internal::memory_limit system =
      real ? runtime_internal::read_memory_limit() : runtime_internal::memory_limit();
  const bool tight = system.bytes / 2 < default_quota_bytes_max;
  const std::uint64_t bytes = tight ? system.bytes / 2 : default_quota_bytes_max;
  if (on.log().wants(log_level::info)) {
    on.log().write(log_level::info,
                   "the server's memory quota is " + std::to_string(bytes) + " bytes: " +
                       (tight ? "half of " + system.source + ", which is " + std::to_string(system.bytes)
                              : "the default, 1 GiB") +
                       " (set another with server_limits::memory())");
  }
  return memory_quota(static_cast<std::size_t>(bytes));
}

shard::relief::relief(shard& s) noexcept : of(s) {
  fire = [](coro::timer& t) noexcept { static_cast<relief&>(t).of.look_for_relief(); };
}

// If all hold this or less, they are within the limit: whoever is closed for its memory held more.
std::size_t shard::even_share() const noexcept {
  const std::size_t all = closing_bytes(quota_->limit);
  return (all - std::min(all, quota_->abandoned.load(std::memory_order_relaxed))) /
         std::max<std::size_t>(quota_->connections.load(std::memory_order_relaxed), 1);
}

bool shard::under_pressure() const noexcept {
  return quota_->used.load(std::memory_order_relaxed) > pressing_bytes(quota_->limit);
}

void shard::on_memory(transport::connection& c, std::size_t bytes) noexcept {
  const auto it = connections_.find(&c);
  if (it == connections_.end()) return;
  served& s = it->second;
  const std::size_t before = std::exchange(s.bytes, bytes);
  s.held_bytes = std::min(s.held_bytes, bytes);
  const std::size_t used =
      quota_->used.fetch_add(bytes - before, std::memory_order_relaxed) + (bytes - before);
  if (bytes > before && under_pressure() && bytes > even_share() / 2) press(c, s, true);
  if (bytes > before && used > closing_bytes(quota_->limit)) make_room(true);
}

// Beyond the limit, a connection that holds no more than its even share is still served: those that hold more make room.
bool shard::may_keep(transport::connection& c, std::size_t more_bytes) noexcept {
  const std::size_t used = quota_->used.load(std::memory_order_relaxed);
  const std::size_t all = closing_bytes(quota_->limit);
  if (used <= all && more_bytes <= all - used) return true;
  const auto it = connections_.find(&c);
  const std::size_t share = even_share();
  return it != connections_.end() && it->second.bytes <= share && more_bytes <= share - it->second.bytes;
}

void shard::on_abandoned(std::size_t before) noexcept {
  const std::size_t change = abandoned_bytes - before;  // modulo
  quota_->abandoned.fetch_add(change, std::memory_order_relaxed);
  const std::size_t used = quota_->used.fetch_add(change, std::memory_order_relaxed) + change;
  if (abandoned_bytes > before && used > closing_bytes(quota_->limit)) make_room(true);
}

void shard::press(transport::connection& c, served& s, bool on) noexcept {
  if (s.pressed == on) return;
  s.pressed = on;
  c.press(on);
  if (!on || pressure_since_ != never) return;
  watch_pressure();
  server_->tell_elsewhere(home_, memory_state::pressed);
}

void shard::make_room(bool ask_others) noexcept {
  const bool made = give_up_heaviest(closing_bytes(quota_->limit), "the server's memory quota is exceeded",
                                     [share = even_share()](const served& s) { return s.bytes > share; });
  if (!made && ask_others) server_->tell_elsewhere(home_, memory_state::exceeded);
}

// As many as it takes; what is given up is gone at the turn's end, and not counted until then.
template <class Predicate>
bool shard::give_up_heaviest(std::size_t until_bytes, const char* why, Predicate may_go) noexcept {
  std::size_t going = 0;
  for (const auto& [c, s] : connections_) going += s.given_up ? s.bytes : 0;
  while (quota_->used.load(std::memory_order_relaxed) > until_bytes + going) {
    auto heaviest = connections_.end();
    for (auto it = connections_.begin(); it != connections_.end(); ++it)
      if (!it->second.given_up && may_go(it->second) &&
          (heaviest == connections_.end() || it->second.bytes > heaviest->second.bytes))
        heaviest = it;
    if (heaviest == connections_.end()) return false;
    heaviest->second.given_up = true;
    going += heaviest->second.bytes;
    base::if_memory_allows([&] {
      given_up_lines_.write(home_.log(), log_level::warning, home_.now(),
                            "closing the connection that holds most memory, of " +
                                heaviest->first->peer_address().to_string() + ": " + std::string(why));
    });
    heaviest->first->give_up(why);
  }
  return true;
}

void shard::watch_pressure() noexcept {
  if (pressure_since_ != never) return;
  begin_pressure();
  home_.arm(relief_, deadline_after(home_.now(), relief_interval));
}

void shard::begin_pressure() noexcept {
  pressure_since_ = home_.now();
  messages.release();
  for (auto& [c, s] : connections_) s.held_bytes = s.bytes;
}

void shard::look_for_relief() noexcept {
  if (!under_pressure()) {
    pressure_since_ = never;
    for (auto& [c, s] : connections_) press(*c, s, false);
    return;
  }
  if (home_.now() >= deadline_after(pressure_since_, server_->options.limits().stall_time())) {
    relieve();
    begin_pressure();
  }
  home_.arm(relief_, deadline_after(home_.now(), relief_interval));
}

// Those that had much all the time: a message that was left half sent, say. Others are not to wait for them for ever.
// There are some, for all that hold no more than half of their share together do not make a pressure.
void shard::relieve() noexcept {
  give_up_heaviest(pressing_bytes(quota_->limit), "much of the server's memory was held for too long",
                   [share = even_share()](const served& s) { return s.held_bytes > share / 2; });
}

// --- of all loops, and of all servers that share the quota

void server_state::join_quota() {
  const std::lock_guard held(memory.counted_->servers_change);
  std::erase_if(memory.counted_->servers, [](const auto& s) { return s.expired(); });
  memory.counted_->servers.push_back(weak_from_this());
}

void server_state::tell_elsewhere(loop& but, memory_state what) noexcept {
  std::vector<std::shared_ptr<server_state>> all;
  const bool found = base::if_memory_allows([&] {
    const std::lock_guard held(memory.counted_->servers_change);
    for (const auto& s : memory.counted_->servers) all.push_back(s.lock());
  });
  if (!found) return;  // this loop does its own part, and tells them again
  for (const auto& s : all)
    if (s) s->tell_shards(s.get() == this ? &but : nullptr, what);
}

void server_state::tell_shards(const loop* but, memory_state what) noexcept {
  for (std::size_t i = 0; i < size(); ++i) {
    if (but && i == but->index()) continue;
    if (what == memory_state::pressed) {
      base::if_memory_allows([&] {
        with_shard(i, [](shard* s) {
          if (s) s->watch_pressure();
        });
      });
    } else if (!asked_for_room_[i].exchange(true)) {
      const bool asked = base::if_memory_allows([&] {
        with_shard(i, [this, i](shard* s) {
          asked_for_room_[i] = false;
          if (s) s->make_room(false);
        });
      });
      if (!asked) asked_for_room_[i] = false;
    }
  }
}

}  // namespace coracle::server_internal
