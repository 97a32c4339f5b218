#include "runtime/root.hpp"

#include "runtime/runtime_core.hpp"

#include "coracle/base/impl/assert.hpp"

#include <exception>
#include <utility>

namespace coracle::runtime_internal {

root::root(runtime_core& core, driven_loop& on, task<> t, coro::blocking_signal* ended,
           bool resident) noexcept
    : core_(core), frame_(t.release()), ended_(ended), resident_(resident) {
  run = [](coro::work& w) noexcept {
    const auto frame = static_cast<root&>(w).frame_;
    coro::promise_base::begin(frame, frame.promise());
  };
  frame_.promise().inherit(on.environment());
  frame_.promise().set_completion(*this);
}

std::coroutine_handle<> root::finished(coro::promise_base& promise, std::coroutine_handle<> frame) noexcept {
  if (std::exception_ptr error = static_cast<coro::task_promise<void>&>(promise).error())
    core_.root_failed(std::move(error));
  frame.destroy();
  runtime_core& core = core_;
  coro::blocking_signal* ended = ended_;
  const bool resident = resident_;
  delete this;
  if (resident) core.resident_ended();
  else core.root_ended();
  if (ended) ended->set();
  return std::noop_coroutine();
}

}  // namespace coracle::runtime_internal
