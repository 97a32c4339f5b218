#include "net/accept_pause.hpp"

#include "runtime/backend.hpp"

#include <algorithm>
#include <utility>

namespace coracle::net {

accept_pause::accept_pause(loop& home) noexcept
    : coro::stop_callback([](coro::stop_callback& c) noexcept { static_cast<accept_pause&>(c).end(); }),
      home_(home) {
  fire = [](coro::timer& t) noexcept {
    auto& self = static_cast<accept_pause&>(t);
    self.coro::stop_callback::unlink();
    std::exchange(self.waiter_, {}).resume();
  };
}

void accept_pause::end() noexcept {
  if (waiter_) home_.arm(*this, time_point::min());
}

bool accept_pause::start(std::coroutine_handle<> h, const coro::environment& e) noexcept {
  if (e.stop.stop_requested()) return false;
  waiter_ = h;
  e.stop.subscribe(*this);
  home_.arm(*this, std::min(deadline_after(home_.now(), runtime_internal::accept_rest), e.deadline));
  return true;
}

}  // namespace coracle::net
