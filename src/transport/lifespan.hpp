// lifespan: how long a server keeps a connection (gRFC A9).
#pragma once

#include "coracle/base/clock.hpp"

#include <cstdint>

namespace coracle::transport {

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

}  // namespace coracle::transport
