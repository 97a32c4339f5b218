// burden: what a server's connection may hold for a peer that does not read.
#pragma once

#include "coracle/base/clock.hpp"

#include <cstddef>
#include <cstdint>

namespace coracle::transport {

// A message of this size has the account of memory looked at, at once and at the turn's end.
constexpr std::size_t large_message_bytes = 16u << 10;

struct burden_limits {
  // Bytes of finished replies; above it new calls are held back.
  std::size_t unread_bytes = std::size_t{4} << 20;
  // Above it, or with a send under way, for so long without progress: closed.
  duration stall_time = std::chrono::seconds(60);
};

// Notices that a peer takes nothing any more. A clock without a timer, like lifespan: it looks once each stall_time
// while there is something to wait for, so that a stall is found after one or two of them.
class stall_watch {
 public:
  explicit stall_watch(duration stall_time) noexcept : time_(stall_time) {}

  [[nodiscard]] time_point next() const noexcept { return look_at_; }
  // Something waits for the peer. A compare while it is watched already.
  void watch(time_point now) noexcept {
    if (look_at_ == never) look_at_ = deadline_after(now, time_);
  }
  // True when the peer is given up. congested: above burden_limits::unread_bytes; moved: all the reply bytes that have
  // left so far; sending_since: of the send under way, never when there is none. heard: what the peer sends is read, so that
  // it can make replies move.
  [[nodiscard]] bool on_time(time_point now, bool congested, std::uint64_t moved, time_point sending_since,
                             bool heard) noexcept {
    if (now < look_at_) return false;
    const bool stuck = sending_since != never && now >= deadline_after(sending_since, time_);
    if (stuck || (congested && heard && was_congested_ && moved == moved_)) return true;
    was_congested_ = congested && heard;
    moved_ = moved;
    look_at_ = congested || sending_since != never ? deadline_after(now, time_) : never;
    return false;
  }

 private:
  duration time_;
  time_point look_at_ = never;
  std::uint64_t moved_ = 0;
  bool was_congested_ = false;
};

}  // namespace coracle::transport
