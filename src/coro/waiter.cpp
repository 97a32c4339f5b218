#include "coracle/coro/waiter.hpp"

namespace coracle::coro {

waiter::stop_hook::stop_hook(waiter& w) noexcept
    : stop_callback([](stop_callback& c) noexcept {
        waiter& self = static_cast<stop_hook&>(c).owner;
        self.stopped_ = true;
        self.list_hook::unlink();
        self.abandoned_(self);
      }),
      owner(w) {}

waiter::waiter(abandoned f) noexcept : abandoned_(f), on_stop_(*this) {
  run = [](work& w) noexcept { static_cast<waiter&>(w).task_.resume(); };
}

bool waiter::start(base::intrusive_list<waiter>& queue, std::coroutine_handle<> h, stop_token stop) noexcept {
  if (!stop.subscribe(on_stop_)) {
    stopped_ = true;
    return false;
  }
  task_ = h;
  queue.push_back(*this);
  return true;
}

void waiter::resume_soon() noexcept {
  on_stop_.unlink();
  this_executor().post(*this);
}

}  // namespace coracle::coro
