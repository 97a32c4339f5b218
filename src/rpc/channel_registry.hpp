// channel_registry: the channels of a runtime, for channelz.
#pragma once

#include "coracle/coro/task.hpp"
#include "coracle/rpc/connection_snapshot.hpp"
#include "coracle/security/security.hpp"
#include "runtime/runtime_core.hpp"
#include "transport/connection.hpp"

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

// Called on the loop `owner_loop` of the connection. `detailed` adds what only the kernel and TLS know.
[[nodiscard]] connection_snapshot take_snapshot(loop& owner_loop, std::uint64_t id, transport::connection& c,
                                                bool detailed);
// Returns the date and time of a time of the loop's clock; zero for time_point{}.
[[nodiscard]] wall_time to_wall_time(loop& l, time_point t);

// One event of a trace.
class traced_event {
 public:
  enum class severity : std::uint8_t { info, warning, error };
  traced_event() = default;
  wall_time time{};
  std::string description;  // base::printable()
  severity level = severity::info;
  std::uint64_t subchannel = 0;  // that the event is about; 0: none
};

// The latest events of a channel, subchannel or server. A value; its owner ensures that only one thread at a
// time uses it. Calls record no events. It is bounded, since servers influence the text of events and how
// often they occur.
class event_trace {
 public:
  static constexpr std::size_t events_max = 32;

  explicit event_trace(wall_time made = {}) noexcept : made_(made) {}
  // Without memory for it, the event is omitted.
  void add(wall_time now, std::string_view description,
           traced_event::severity level = traced_event::severity::info,
           std::uint64_t subchannel = 0) noexcept;

  [[nodiscard]] wall_time made() const noexcept { return made_; }
  // The number of events that were ever added.
  [[nodiscard]] std::uint64_t added() const noexcept { return added_; }
  // Returns the events that are kept, oldest first.
  [[nodiscard]] std::vector<traced_event> latest() const;

 private:
  // Before the text of each event.
  struct header {
    wall_time time;
    std::uint64_t subchannel;
    std::uint8_t text_bytes;
    traced_event::severity level;
  };
  [[nodiscard]] static header header_at(const char* event) noexcept;

  wall_time made_;
  std::uint64_t added_ = 0;
  // The events, oldest first, in one block without spare room: a channel may have thousands of traces.
  std::vector<char> events_;
};

class subchannel_snapshot {
 public:
  subchannel_snapshot() = default;
  std::uint64_t id = 0;
  std::string address;
  std::string_view state;  // "READY" and so on: grpc/grpc doc/connectivity-semantics-and-api.md
  // These count the attempts of calls, and the health checks, on all connections including closed ones.
  std::uint64_t calls_started = 0;
  std::uint64_t calls_succeeded = 0;  // ended with OK
  std::uint64_t calls_failed = 0;
  wall_time last_call_started{};
  std::uint32_t connections_max = 1;
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
  std::uint32_t connections_max = 1;  // of each of its subchannels
  event_trace trace;
  std::vector<subchannel_snapshot> subchannels;  // of all loops, by id
};

// The interface of a channel for the registry.
class channelz_entry {
 public:
  // Gathers the stats from the loops of the channel's runtime. For coroutines on a loop of any runtime.
  // detailed: the id of the connection whose snapshot has details; 0: none.
  [[nodiscard]] virtual task<channel_snapshot> stats(std::uint64_t detailed = 0) = 0;
  // Any thread.
  [[nodiscard]] virtual std::string_view target_name() const noexcept = 0;
  // Null for plaintext. Any thread.
  [[nodiscard]] virtual std::shared_ptr<security::client_security> security() const noexcept = 0;
  // The runtime of the channel is being destroyed. Its loops must not be accessed after this.
  virtual void runtime_ended() noexcept = 0;

 protected:
  ~channelz_entry() = default;
};

// One per runtime. Any thread.
class channel_registry final : public runtime_internal::companion {
 public:
  static std::shared_ptr<channel_registry> of(runtime& rt);

  // Returns an id for a channel, a server or a part of one: unique in the process, never 0, and higher than
  // all before (gRFC A14). Any thread.
  [[nodiscard]] static std::uint64_t next_id() noexcept;
  void add(std::uint64_t id, std::weak_ptr<channelz_entry> c);
  // all() does not return the channel from now on.
  void hide(std::uint64_t id) noexcept;
  void remove(std::uint64_t id) noexcept;
  // Returns the channels in order of their ids.
  [[nodiscard]] std::map<std::uint64_t, std::shared_ptr<channelz_entry>> all() const;
  // runtime_internal::companion
  void runtime_ended() noexcept override;

 private:
  struct entry {
    std::weak_ptr<channelz_entry> channel;
    bool hidden = false;
  };
  mutable std::mutex mutex_;
  std::map<std::uint64_t, entry> channels_;
};

}  // namespace coracle::rpc
