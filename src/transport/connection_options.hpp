// connection_options: what an owner may decide about a connection.
#pragma once

#include "coracle/base/clock.hpp"
#include "http2/limits.hpp"

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

struct lifespan_options {
  // Without an exchange for so long: drained. max: never.
  duration max_idle = duration::max();
  // Older than this: drained. Whoever sets it adds jitter of its own, so that connections that came together do not go
  // together.
  duration max_age = duration::max();
  // And so long after that: closed, whatever runs.
  duration max_age_grace = duration::max();
};

// A clock without a timer, like http2::keepalive.
class lifespan {
 public:
  enum class verdict : std::uint8_t { go_on, drain, close };

  lifespan(const lifespan_options& o, time_point now) noexcept
      : options_(o),
        used_(now),
        idle_at_(deadline_after(now, o.max_idle)),
        age_at_(deadline_after(now, o.max_age)) {}

  // An exchange has ended, if it matters when.
  [[nodiscard]] bool watches_idle() const noexcept { return idle_at_ != never; }
  void used(time_point now) noexcept { used_ = now; }

  [[nodiscard]] time_point next() const noexcept { return idle_at_ < age_at_ ? idle_at_ : age_at_; }
  [[nodiscard]] verdict on_time(time_point now, bool in_use) noexcept {
    if (now >= age_at_) {
      const bool again = old_;
      old_ = true;
      age_at_ = again ? never : deadline_after(now, options_.max_age_grace);
      idle_at_ = never;
      return again ? verdict::close : verdict::drain;
    }
    if (now < idle_at_) return verdict::go_on;
    if (in_use) used_ = now;
    idle_at_ = deadline_after(used_, options_.max_idle);
    if (now < idle_at_) return verdict::go_on;
    idle_at_ = never;
    return verdict::drain;
  }

 private:
  lifespan_options options_;
  time_point used_;
  time_point idle_at_;
  time_point age_at_;
  bool old_ = false;
};

struct connection_options {
  // Keepalive (limits::keepalive) and the peer's PINGs (limits::pings) among them.
  http2::limits http2;
  // Of servers.
  lifespan_options life;
  burden_limits burden;
};

}  // namespace coracle::transport
