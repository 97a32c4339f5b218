#include "rpc/channel_registry.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "coracle/runtime/runtime.hpp"
#include "rpc/configured_clients.hpp"
#include "runtime/runtime_core.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace coracle::rpc {

std::shared_ptr<channel_registry> channel_registry::of(runtime& rt) {
  return rt.core().companion_of<channel_registry>();
}

std::shared_ptr<configured_clients> configured_clients::of(runtime& rt) {
  return rt.core().companion_of<configured_clients>();
}

std::uint64_t channel_registry::next_id() noexcept {
  static std::atomic<std::uint64_t> last_id{0};
  return last_id.fetch_add(1, std::memory_order_relaxed) + 1;
}

void channel_registry::add(std::uint64_t id, std::weak_ptr<channelz_entry> c) {
  const std::lock_guard lock(mutex_);
  channels_.emplace(id, entry{std::move(c)});
}

void channel_registry::hide(std::uint64_t id) noexcept {
  const std::lock_guard lock(mutex_);
  if (const auto found = channels_.find(id); found != channels_.end()) found->second.hidden = true;
}

void channel_registry::remove(std::uint64_t id) noexcept {
  const std::lock_guard lock(mutex_);
  channels_.erase(id);
}

std::map<std::uint64_t, std::shared_ptr<channelz_entry>> channel_registry::all() const {
  const std::lock_guard lock(mutex_);
  std::map<std::uint64_t, std::shared_ptr<channelz_entry>> alive;
  for (const auto& [id, e] : channels_)
    if (auto held = e.hidden ? nullptr : e.channel.lock()) alive.emplace(id, std::move(held));
  return alive;
}

// A channel that is released here may be destroyed here, and then calls remove().
void channel_registry::runtime_ended() noexcept {
  std::vector<std::shared_ptr<channelz_entry>> alive;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, e] : channels_)
      if (auto held = e.channel.lock()) alive.push_back(std::move(held));
  }
  for (const auto& c : alive) c->runtime_ended();
}

event_trace::header event_trace::header_at(const char* event) noexcept {
  header h;
  std::memcpy(&h, event, sizeof h);
  return h;
}

void event_trace::add(wall_time now, std::string_view description, traced_event::severity level,
                      std::uint64_t subchannel) noexcept {
  static_assert(base::printable_bytes_max + std::string_view("...").size() <= 0xff);
  base::if_memory_allows([&] {
    const std::string text = base::printable(description);
    const header h{now, subchannel, static_cast<std::uint8_t>(text.size()), level};
    const std::size_t dropped = added_ < events_max ? 0 : sizeof h + header_at(events_.data()).text_bytes;
    std::vector<char> after(events_.size() - dropped + sizeof h + text.size());
    char* end =
        std::copy(events_.begin() + static_cast<std::ptrdiff_t>(dropped), events_.end(), after.data());
    std::memcpy(end, &h, sizeof h);
    std::copy(text.begin(), text.end(), end + sizeof h);
    events_.swap(after);
    ++added_;
  });
}

std::vector<traced_event> event_trace::latest() const {
  std::vector<traced_event> all;
  for (const char* at = events_.data(); at != events_.data() + events_.size();) {
    const header h = header_at(at);
    at += sizeof h;
    traced_event& e = all.emplace_back();
    e.time = h.time;
    e.description.assign(at, h.text_bytes);
    e.level = h.level;
    e.subchannel = h.subchannel;
    at += h.text_bytes;
  }
  return all;
}

wall_time to_wall_time(loop& l, time_point t) {
  if (t == time_point{}) return {};
  return l.wall_now() - std::chrono::duration_cast<wall_time::duration>(l.now() - t);
}

connection_snapshot take_snapshot(loop& owner_loop, std::uint64_t id, transport::connection& c,
                                  bool detailed) {
  const transport::connection_stats f = c.stats();
  connection_snapshot s;
  s.id = id;
  s.local = c.local_address();
  s.peer = c.peer_address();
  if (const auth_context* a = c.auth()) s.auth = a->weak_from_this().lock();
  s.secure = c.auth() != nullptr;
  s.streams_started = f.streams_started;
  s.streams_succeeded = f.streams_succeeded;
  s.streams_open = f.streams_open;
  const std::uint64_t not_failed = f.streams_succeeded + f.streams_open;
  s.streams_failed = f.streams_started > not_failed ? f.streams_started - not_failed : 0;
  s.messages_sent = f.messages_sent;
  s.messages_received = f.messages_received;
  s.keepalives_sent = f.keepalives_sent;
  s.last_stream_started = to_wall_time(owner_loop, f.last_stream_started);
  s.last_message_sent = to_wall_time(owner_loop, f.last_message_sent);
  s.last_message_received = to_wall_time(owner_loop, f.last_message_received);
  s.send_window_bytes = f.send_window_bytes;
  s.receive_window_bytes = f.receive_window_bytes;
  const transport::peer_statements said = c.peer_says();
  if (said.goaway) s.received_goaway = static_cast<std::uint32_t>(*said.goaway);
  s.peer_max_concurrent_streams = said.max_concurrent_streams;
  if (detailed) s.details = std::make_shared<const net::connection_details>(c.details());
  return s;
}

}  // namespace coracle::rpc
