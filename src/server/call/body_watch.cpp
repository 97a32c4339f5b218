#include "server/call/body_watch.hpp"

namespace coracle::server_internal {

body_watch::body_watch(body_receiver& of, duration stall_time, std::size_t stall_bytes) noexcept
    : of_(of), stall_time_(stall_time), stall_bytes_(stall_bytes) {
  timer::fire = [](coro::timer& t) noexcept { static_cast<body_watch&>(t).check(); };
}

void body_watch::arrived(std::size_t n) noexcept {
  bytes_ += n;
  if (timer::holder || stall_time_ == duration::max()) return;
  bytes_ = 0;
  coro::this_executor().arm(*this, deadline_after(coro::this_executor().now(), stall_time_));
}

void body_watch::stop() noexcept {
  if (timer::holder) coro::this_executor().disarm(*this);
}

void body_watch::check() noexcept {
  if (bytes_ < stall_bytes_) return of_.on_slow_body();  // this may be gone
  bytes_ = 0;
  coro::this_executor().arm(*this, deadline_after(coro::this_executor().now(), stall_time_));
}

}  // namespace coracle::server_internal
