// How a server keeps within its memory_quota.
#include "server/server_state.hpp"
#include "server/shard.hpp"

#include <algorithm>

namespace coracle::serving {

namespace {
constexpr duration relief_interval = std::chrono::milliseconds(50);

// The last eighth is for what is under way and not counted: replies that are being written, the heap's own waste.
constexpr std::size_t closing_bytes(std::size_t limit) noexcept { return limit / 8 * 7; }
constexpr std::size_t pressing_bytes(std::size_t limit) noexcept { return limit / 8 * 5; }
}  // namespace

shard::relief::relief(shard& s) noexcept : of(s) {
  fire = [](coro::timer& t) noexcept { static_cast<relief&>(t).of.look_for_relief(); };
}

// If all hold this or less, they are within the limit: whoever is closed for its memory held more.
std::size_t shard::even_share() const noexcept {
  return closing_bytes(quota_->limit) /
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
  const std::size_t used =
      quota_->used.fetch_add(bytes - before, std::memory_order_relaxed) + (bytes - before);
  if (bytes > before && under_pressure() && bytes > even_share() / 2) press(c, s, true);
  if (bytes > before && used > closing_bytes(quota_->limit)) make_room(true);
}

void shard::press(transport::connection& c, served& s, bool on) noexcept {
  if (s.pressed == on) return;
  s.pressed = on;
  c.press(on);
  if (!on) {
    --pressed_count_;
  } else if (++pressed_count_ == 1) {
    home_.arm(relief_, deadline_after(home_.now(), relief_interval));
  }
}

// As many as it takes; what is given up is gone at the turn's end, and not counted until then.
void shard::make_room(bool ask_others) noexcept {
  std::size_t going = 0;
  for (const auto& [c, s] : connections_) going += s.given_up ? s.bytes : 0;
  while (quota_->used.load(std::memory_order_relaxed) > closing_bytes(quota_->limit) + going) {
    auto heaviest = connections_.end();
    for (auto it = connections_.begin(); it != connections_.end(); ++it)
      if (!it->second.given_up && it->second.bytes > even_share() &&
          (heaviest == connections_.end() || it->second.bytes > heaviest->second.bytes))
        heaviest = it;
    if (heaviest == connections_.end()) {
      if (ask_others) server_->make_room_elsewhere(home_);
      return;
    }
    heaviest->second.given_up = true;
    going += heaviest->second.bytes;
    given_up_lines_.write(home_.log(), log_level::warning, home_.now(),
                          "the memory quota is exceeded: closing the connection that holds most, of " +
                              heaviest->first->peer_address().to_string());
    heaviest->first->give_up("the server's memory quota is exceeded");
  }
}

void shard::look_for_relief() noexcept {
  if (!under_pressure())
    for (auto& [c, s] : connections_) press(*c, s, false);
  if (pressed_count_ > 0) home_.arm(relief_, deadline_after(home_.now(), relief_interval));
}

}  // namespace coracle::serving
