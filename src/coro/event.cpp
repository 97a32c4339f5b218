#include "coracle/coro/event.hpp"

namespace coracle {

void event<>::set() noexcept {
  set_ = true;
  while (awaiter* a = waiters_.pop_front()) a->resume_soon();
}

event<>::awaiter::stop_hook::stop_hook(awaiter& a) noexcept
    : coro::stop_callback([](coro::stop_callback& c) noexcept {
        awaiter& self = static_cast<stop_hook&>(c).owner;
        self.stopped_ = true;
        self.list_hook::unlink();
        self.resume_soon();
      }),
      owner(a) {}

event<>::awaiter::awaiter(event& e) noexcept : event_(e), on_stop_(*this) {
  run = [](coro::work& w) noexcept { static_cast<awaiter&>(w).waiter_.resume(); };
}

bool event<>::awaiter::start(std::coroutine_handle<> h, coro::stop_token stop) noexcept {
  if (!stop.subscribe(on_stop_)) {
    stopped_ = true;
    return false;
  }
  waiter_ = h;
  event_.waiters_.push_back(*this);
  return true;
}

void event<>::awaiter::resume_soon() noexcept {
  on_stop_.unlink();
  coro::this_executor().post(*this);
}

}  // namespace coracle
