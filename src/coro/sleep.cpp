#include "coracle/coro/sleep.hpp"

namespace coracle {

sleep_until::sleep_until(time_point until) noexcept
    : coro::stop_callback([](coro::stop_callback& c) noexcept {
        auto& self = static_cast<sleep_until&>(c);
        self.stopped_ = true;
        // Resumes through the timers, not here: a stop callback must not resume a task on the requester's
        // stack.
        coro::this_executor().disarm(self);
        coro::this_executor().arm(self, time_point::min());
      }),
      until_(until) {
  fire = [](coro::timer& t) noexcept {
    auto& self = static_cast<sleep_until&>(t);
    self.coro::stop_callback::unlink();
    self.waiter_.resume();
  };
}

bool sleep_until::start(std::coroutine_handle<> h, const coro::environment& e) noexcept {
  if (e.stop.stop_requested()) {
    stopped_ = true;
    return false;
  }
  waiter_ = h;
  e.stop.subscribe(*this);
  coro::this_executor().arm(*this, until_);
  return true;
}

}  // namespace coracle
