#include "coracle/coro/impl/waiting_call.hpp"

#include "coracle/base/impl/assert.hpp"

namespace coracle::coro {

waiter::stop_hook::stop_hook(waiter& w) noexcept
    : stop_callback([](stop_callback& c) noexcept { static_cast<stop_hook&>(c).owner.on_stop_requested(); }),
      owner(w) {}

waiter::~waiter() {
  CORACLE_ASSERT(in_flight_ == 0,
                 "a task was destroyed while it waits on another loop: stop it and wait for its end");
}

bool waiter::start(owner_loop& at, std::coroutine_handle<> h, stop_token stop) noexcept {
  stopped_ = !stop.subscribe(on_stop_);
  origin_ = &this_executor();
  task_ = h;
  if (at.is_current()) {
    if (stopped_) return false;
    run = [](runnable& w) noexcept { static_cast<waiter&>(w).task_.resume(); };
    enqueue();
    return true;
  }
  waiting_on_ = at.where();  // not `at`: the primitive may be gone when a stop comes
  in_flight_ = 1;
  run = [](runnable& w) noexcept { static_cast<waiter&>(w).on_arrived(); };
  at.post(*this);
  return true;
}

void waiter::resume_soon() noexcept {
  if (waiting_on_) run = [](runnable& w) noexcept { static_cast<waiter&>(w).on_returned(); };
  else on_stop_.unlink();
  origin_->post(*this);
}

void waiter::ignore_stops() noexcept {
  if (waiting_on_) ignores_stops_ = true;
  else on_stop_.unlink();
}

// From here on, code runs on the owner loop; the stop hook belongs to the origin.
void waiter::on_arrived() noexcept {
  const bool granted = attempt();
  if (!granted && !stopped_) return enqueue();
  stopped_ = !granted;  // a task stopped before takes what is available, as on the owner loop
  resume_soon();
}

void waiter::on_stop_arrived() noexcept {
  stop_.run = [](runnable& w) noexcept { static_cast<remote_stop&>(w).owner->on_returned(); };
  if (list_hook::linked() && !ignores_stops_) {
    list_hook::unlink();
    stopped_ = true;
    on_stopped();
  }
  origin_->post(stop_);
}

// Runs on the loop where the task awaited.
void waiter::on_stop_requested() noexcept {
  if (waiting_on_) {
    ++in_flight_;
    stop_.owner = this;
    stop_.run = [](runnable& w) noexcept { static_cast<remote_stop&>(w).owner->on_stop_arrived(); };
    return waiting_on_->post(stop_);
  }
  stopped_ = true;
  list_hook::unlink();
  on_stopped();
}

void waiter::on_returned() noexcept {
  on_stop_.unlink();
  if (--in_flight_ == 0) task_.resume();
}

}  // namespace coracle::coro
