// connection_options: the options of a connection, and its timers for stalls, idleness and age.
#pragma once

#include "coracle/base/clock.hpp"
#include "http1/limits.hpp"
#include "http2/limits.hpp"

#include <cstddef>
#include <cstdint>

namespace coracle::transport {

// A message of at least this size causes memory accounting at once and at the end of the loop iteration.
constexpr std::size_t large_message_bytes = 16u << 10;

struct backpressure_limits {
  // The maximum size of complete responses that the peer has not read; above it new calls are delayed.
  std::size_t unread_bytes = std::size_t{4} << 20;
  // The connection is closed if unread responses exceed unread_bytes, or a send is pending, without progress
  // for this long.
  duration stall_time = std::chrono::seconds(60);
};

// Detects that a peer no longer reads. Like connection_age_policy it uses no timer of its own. It checks once
// per stall_time while there is something to wait for, so that a stall is detected after one to two
// stall_times.
class stall_watch {
 public:
  explicit stall_watch(duration stall_time) noexcept : time_(stall_time) {}

  [[nodiscard]] time_point next() const noexcept { return check_at_; }
  // Call when something waits for the peer. Only a comparison if it is watched already.
  void watch(time_point now) noexcept {
    if (check_at_ == never) check_at_ = deadline_after(now, time_);
  }
  // Returns true if the connection must be closed. congested: above backpressure_limits::unread_bytes;
  // bytes_sent: all response bytes sent so far; sending_since: of the pending send, `never` if there is none;
  // peer_is_active: input from the peer is being read, so that its window updates can make progress.
  [[nodiscard]] bool on_time(time_point now, bool congested, std::uint64_t bytes_sent,
                             time_point sending_since, bool peer_is_active) noexcept {
    if (now < check_at_) return false;
    const bool stuck = sending_since != never && now >= deadline_after(sending_since, time_);
    if (stuck || (congested && peer_is_active && was_congested_ && bytes_sent == bytes_sent_)) return true;
    was_congested_ = congested && peer_is_active;
    bytes_sent_ = bytes_sent;
    check_at_ = congested || sending_since != never ? deadline_after(now, time_) : never;
    return false;
  }

 private:
  duration time_;
  time_point check_at_ = never;
  std::uint64_t bytes_sent_ = 0;
  bool was_congested_ = false;
};

struct connection_age_options {
  // Drain the connection after it has had no exchange for this long. max: never.
  duration max_idle = duration::max();
  // Drain the connection at this age. The caller adds jitter, so that connections opened together do not
  // drain together. max: never.
  duration max_age = duration::max();
  // Close the connection this long after max_age, even if calls are running. max: never.
  duration max_age_grace = duration::max();
};

// Enforces connection_age_options. Like http2::keepalive it uses no timer of its own: the caller passes the
// time.
class connection_age_policy {
 public:
  enum class verdict : std::uint8_t { keep_open, drain, close };

  connection_age_policy(const connection_age_options& o, time_point now) noexcept
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
      const bool again = past_max_age_;
      past_max_age_ = true;
      age_at_ = again ? never : deadline_after(now, options_.max_age_grace);
      idle_at_ = never;
      return again ? verdict::close : verdict::drain;
    }
    if (now < idle_at_) return verdict::keep_open;
    if (in_use) used_ = now;
    idle_at_ = deadline_after(used_, options_.max_idle);
    if (now < idle_at_) return verdict::keep_open;
    idle_at_ = never;
    return verdict::drain;
  }

 private:
  connection_age_options options_;
  time_point used_;
  time_point idle_at_;
  time_point age_at_;
  bool past_max_age_ = false;
};

struct http1_options {
  http1::limits limits;
  // Client: the limit on the header list of a response, as http2::limits::header_list_bytes.
  // limits.header_bytes is the larger limit up to which fields are read.
  std::uint32_t header_list_bytes = 16u << 10;
  // How long a connection may wait for its next request; clients close theirs before that.
  duration idle_timeout = std::chrono::seconds(75);
  // How many bytes of a body may have arrived that the handler has not consumed.
  std::size_t window_bytes = 1u << 20;
};

struct connection_options {
  // Includes keepalive (limits::keepalive) and the limits on the peer's PINGs (limits::pings).
  http2::limits http2;
  // Client: null unless it speaks HTTP/1.1. A server asks connection_owner::http1() when a peer does.
  const http1_options* http1 = nullptr;
  // Servers only.
  connection_age_options age;
  backpressure_limits backpressure;
};

}  // namespace coracle::transport
