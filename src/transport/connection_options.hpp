// connection_options: the options of a connection, and its timers for stalls, idleness and age.
#pragma once

#include "coracle/base/clock.hpp"
#include "http2/limits.hpp"

#include <cstddef>
#include <cstdint>

namespace coracle::transport {

// A message of at least this size causes memory accounting at once and at the end of the loop iteration.
constexpr std::size_t large_message_bytes = 16u << 10;

struct burden_limits {
  // The maximum size of complete responses that the peer has not read; above it new calls are delayed.
  std::size_t unread_bytes = std::size_t{4} << 20;
  // The connection is closed if unread responses exceed unread_bytes, or a send is pending, without progress
  // for this long.
  duration stall_time = std::chrono::seconds(60);
};

// Detects that a peer no longer reads. Like lifespan it uses no timer of its own. It checks once per
// stall_time while there is something to wait for, so that a stall is detected after one to two stall_times.
class stall_watch {
 public:
  explicit stall_watch(duration stall_time) noexcept : time_(stall_time) {}

  [[nodiscard]] time_point next() const noexcept { return look_at_; }
  // Call when something waits for the peer. Only a comparison if it is watched already.
  void watch(time_point now) noexcept {
    if (look_at_ == never) look_at_ = deadline_after(now, time_);
  }
  // Returns true if the connection must be closed. congested: above burden_limits::unread_bytes; moved: all
  // response bytes sent so far; sending_since: of the pending send, `never` if there is none; heard: input
  // from the peer is being read, so that its window updates can make progress.
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
  // Drain the connection after it has had no exchange for this long. max: never.
  duration max_idle = duration::max();
  // Drain the connection at this age. The caller adds jitter, so that connections opened together do not
  // drain together. max: never.
  duration max_age = duration::max();
  // Close the connection this long after max_age, even if calls are running. max: never.
  duration max_age_grace = duration::max();
};

// Enforces lifespan_options. Like http2::keepalive it uses no timer of its own: the caller passes the time.
class lifespan {
 public:
  enum class verdict : std::uint8_t { go_on, drain, close };

  lifespan(const lifespan_options& o, time_point now) noexcept
      : options_(o),
        used_(now),
        idle_at_(deadline_after(now, o.max_idle)),
        age_at_(deadline_after(now, o.max_age)) {}

  // used() must be called when an exchange has ended, if watches_idle() returns true.
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
  // Includes keepalive (limits::keepalive) and the limits on the peer's PINGs (limits::pings).
  http2::limits http2;
  // Servers only.
  lifespan_options life;
  burden_limits burden;
};

}  // namespace coracle::transport
