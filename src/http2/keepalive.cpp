#include "http2/keepalive.hpp"

namespace coracle::http2 {

keepalive::verdict keepalive::on_time(time_point now, bool calls_open) noexcept {
  if (now < next_) return verdict::nothing;
  if (asking_ && heard_ < asked_) return verdict::dead;
  asking_ = false;
  const time_point due = deadline_after(heard_, options_.time);
  if (now < due) {
    next_ = due;
    return verdict::nothing;
  }
  if (!calls_open && !options_.without_calls) {
    asleep_ = true;
    next_ = never;
    return verdict::nothing;
  }
  asking_ = true;
  asked_ = now;
  ++pings_;
  next_ = deadline_after(now, options_.timeout);
  return verdict::ping;
}

void keepalive::wake() noexcept {
  asleep_ = false;
  next_ = deadline_after(heard_, options_.time);
}

}  // namespace coracle::http2
