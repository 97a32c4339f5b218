// channel_registry: the channels of a runtime, for those who show them.
#pragma once

#include "coracle/coro/task.hpp"
#include "coracle/rpc/connection_snapshot.hpp"
#include "transport/connection.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace coracle {
class runtime;
}

namespace coracle::rpc {

// On the loop `home` of the connection.
[[nodiscard]] connection_snapshot take_snapshot(loop& home, std::uint64_t id, transport::connection& c);
// The date and time of a moment of the loop's clock; nothing for time_point{}.
[[nodiscard]] wall_time on_the_wall(loop& l, time_point t);

// One of a trace's events.
class traced_event {
 public:
  enum class severity : std::uint8_t { info, warning };
  traced_event() = default;
  wall_time when{};
  std::string what;  // base::printable()
  severity how = severity::info;
  std::uint64_t subchannel = 0;  // the one that it is about; 0: none
};

// The latest events. A value; whoever keeps one sees to it that one thread at a time uses it. Nothing of a call's is an
// event. Bounded, since a server chooses some of the words and how often it hangs up.
class event_trace {
 public:
  static constexpr std::size_t events_max = 32;

  explicit event_trace(wall_time made = {}) noexcept : made_(made) {}
  void add(wall_time now, std::string_view what, traced_event::severity how = traced_event::severity::info,
           std::uint64_t subchannel = 0);

  [[nodiscard]] wall_time made() const noexcept { return made_; }
  // Ever.
  [[nodiscard]] std::uint64_t added() const noexcept { return added_; }
  // Those that are kept, oldest first.
  [[nodiscard]] std::vector<traced_event> latest() const;

 private:
  wall_time made_;
  std::uint64_t added_ = 0;
  std::vector<traced_event> ring_;  // once full, the oldest at added_ % events_max
};

class subchannel_snapshot {
 public:
  subchannel_snapshot() = default;
  std::uint64_t id = 0;
  std::string address;
  std::string_view state;  // "READY" and so on: grpc/grpc doc/connectivity-semantics-and-api.md
  // Of attempts of calls, and of questions about the server's health, on its connections, those that are closed among them.
  std::uint64_t calls_started = 0;
  std::uint64_t calls_succeeded = 0;  // ended with OK
  std::uint64_t calls_failed = 0;
  event_trace trace;
  std::vector<connection_snapshot> connections;
};

class channel_snapshot {
 public:
  channel_snapshot() = default;
  std::uint64_t id = 0;
  std::string target;
  std::string_view state;
  std::uint64_t calls_started = 0;
  std::uint64_t calls_succeeded = 0;  // ended with OK
  std::uint64_t calls_failed = 0;
  wall_time last_call_started{};
  event_trace trace;
  std::vector<subchannel_snapshot> subchannels;  // of all loops, by id
};

// A channel as the registry knows it.
class shown_channel {
 public:
  // Gathered from the loops of its runtime. For coroutines of any runtime's loop.
  [[nodiscard]] virtual task<channel_snapshot> figures() = 0;

 protected:
  ~shown_channel() = default;
};

// One per runtime. Any thread.
class channel_registry {
 public:
  static std::shared_ptr<channel_registry> of(runtime& rt);

  // For channels and what belongs to them. Above the numbers that servers give, which one answer may show beside them.
  [[nodiscard]] std::uint64_t next_id() noexcept { return ++last_id_; }
  void add(std::uint64_t id, std::weak_ptr<shown_channel> c);
  void remove(std::uint64_t id) noexcept;
  // By their ids, in order.
  [[nodiscard]] std::map<std::uint64_t, std::shared_ptr<shown_channel>> all() const;

 private:
  std::atomic<std::uint64_t> last_id_{std::uint64_t{1} << 32};
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::weak_ptr<shown_channel>> channels_;
};

}  // namespace coracle::rpc
