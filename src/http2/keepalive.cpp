#include "http2/keepalive.hpp"

namespace coracle::http2 {

keepalive::verdict keepalive::on_time(time_point now, bool calls_open) noexcept {
  if (now < next_) return verdict::nothing;
  if (ping_pending_ && last_input_ < pinged_at_) return verdict::dead;
  ping_pending_ = false;
  const time_point due = deadline_after(last_input_, options_.time);
  if (now < due) {
    next_ = due;
    return verdict::nothing;
  }
  if (!calls_open && !options_.without_calls) {
    suspended_ = true;
    next_ = never;
    return verdict::nothing;
  }
  ping_pending_ = true;
  pinged_at_ = now;
  ++pings_;
  next_ = deadline_after(now, options_.timeout);
  return verdict::ping;
}

void keepalive::resume() noexcept {
  suspended_ = false;
  next_ = deadline_after(last_input_, options_.time);
}

}  // namespace coracle::http2
