#include "coracle/runtime/offload.hpp"

#include "runtime/blocking_pool.hpp"
#include "runtime/runtime_core.hpp"

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/result.hpp"
#include "coracle/runtime/loop.hpp"

namespace coracle::coro {

blocking_job::blocking_job(void (*call)(blocking_job&) noexcept) noexcept
    : stop_callback([](stop_callback& c) noexcept {
        auto& self = static_cast<blocking_job&>(c);
        coracle::runtime_internal::runtime_core& core = self.home_->owner().core();
        if (core.driven_by()) {
          self.stopped_ = true;
          self.home_->arm(self, time_point::min());
        } else if (core.pool().take_back(self)) {
          self.stopped_ = true;
          self.home_->post(self);
        }
      }),
      call_(call) {
  run = [](work& w) noexcept {
    auto& self = static_cast<blocking_job&>(w);
    self.stop_callback::unlink();
    self.waiter_.resume();
  };
  fire = [](timer& t) noexcept {  // under a driver, in its time
    auto& self = static_cast<blocking_job&>(t);
    if (!self.stopped_) self.call_(self);
    self.run(self);
  };
}

bool blocking_job::start(std::coroutine_handle<> waiter, const environment& e) noexcept {
  home_ = loop::current();
  CORACLE_ASSERT(home_, "offload() requires a runtime: await it in a task that runs on a loop");
  waiter_ = waiter;
  if (!e.stop.subscribe(*this)) {
    stopped_ = true;
    return false;
  }
  coracle::runtime_internal::runtime_core& core = home_->owner().core();
  if (coracle::runtime_internal::driver* d = core.driven_by())
    home_->arm(*this, deadline_after(home_->now(), d->offload_delay()));
  else if (!core.pool().push(*this)) {
    stop_callback::unlink();
    without_thread_ = true;
    return false;
  }
  return true;
}

void blocking_job::throw_without_thread() {
  throw status_error(
      status::resource_exhausted("offload() cannot start a thread: raise the limits on memory (ulimit "
                                 "-v) and processes (ulimit -u)"));
}

}  // namespace coracle::coro
