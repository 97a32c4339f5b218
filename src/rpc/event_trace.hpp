// event_trace: what has become of a channel or subchannel, for channelz (gRFC A3).
#pragma once

#include "coracle/rpc/connection_snapshot.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::rpc {

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

}  // namespace coracle::rpc
