#include "coracle/coro/impl/waiting_call.hpp"

#include "coracle/base/impl/assert.hpp"

namespace coracle::coro {

waiter::stop_hook::stop_hook(waiter& w) noexcept
    : stop_callback([](stop_callback& c) noexcept { static_cast<stop_hook&>(c).owner.stop_asked(); }),
      owner(w) {}

waiter::~waiter() {
  CORACLE_ASSERT(out_ == 0,
                 "a task was destroyed while it waits on another loop: stop it and wait for its end");
}

bool waiter::start(home& at, std::coroutine_handle<> h, stop_token stop) noexcept {
  stopped_ = !stop.subscribe(on_stop_);
  origin_ = &this_executor();
  task_ = h;
  if (at.is_here()) {
    if (stopped_) return false;
    run = [](work& w) noexcept { static_cast<waiter&>(w).task_.resume(); };
    enqueue();
    return true;
  }
  away_ = at.where();  // not `at`: the primitive may be gone when a stop comes
  out_ = 1;
  run = [](work& w) noexcept { static_cast<waiter&>(w).arrived(); };
  at.post(*this);
  return true;
}

void waiter::resume_soon() noexcept {
  if (away_) run = [](work& w) noexcept { static_cast<waiter&>(w).returned(); };
  else on_stop_.unlink();
  origin_->post(*this);
}

void waiter::ignore_stops() noexcept {
  if (away_) deaf_ = true;
  else on_stop_.unlink();
}

// From here on, code runs on the owner loop; the stop hook belongs to the origin.
void waiter::arrived() noexcept {
  const bool granted = attempt();
  if (!granted && !stopped_) return enqueue();
  stopped_ = !granted;  // a task stopped before takes what is available, as on the owner loop
  resume_soon();
}

void waiter::stop_arrived() noexcept {
  stop_.run = [](work& w) noexcept { static_cast<stop_letter&>(w).owner->returned(); };
  if (list_hook::linked() && !deaf_) {
    list_hook::unlink();
    stopped_ = true;
    abandoned();
  }
  origin_->post(stop_);
}

// Runs on the loop where the task awaited.
void waiter::stop_asked() noexcept {
  if (away_) {
    ++out_;
    stop_.owner = this;
    stop_.run = [](work& w) noexcept { static_cast<stop_letter&>(w).owner->stop_arrived(); };
    return away_->post(stop_);
  }
  stopped_ = true;
  list_hook::unlink();
  abandoned();
}

void waiter::returned() noexcept {
  on_stop_.unlink();
  if (--out_ == 0) task_.resume();
}

}  // namespace coracle::coro
