// root: a task that nobody awaits, from spawn() to its end.
#pragma once

#include "runtime/driven_loop.hpp"

#include "coracle/coro/block_on.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/task.hpp"

#include <coroutine>
#include <cstddef>

namespace coracle::runtime_internal {

class runtime_core;

// Posted to the loop where it shall run; deletes itself and the task's frame there. Memory as for a
// frame, so that a root spawned on a loop allocates nothing in steady state.
class root final : public coro::work, coro::completion {
 public:
  // `ended`, when given, is set as the last act: nothing of the core is touched after it.
  root(runtime_core& core, driven_loop& on, task<> t, coro::blocking_signal* ended, bool resident) noexcept;
  static void* operator new(std::size_t n) { return coro::frame_pool::allocate(n); }
  static void operator delete(void* p, std::size_t n) noexcept { coro::frame_pool::deallocate(p, n); }

 private:
  ~root() = default;
  std::coroutine_handle<> finished(coro::promise_base& promise,
                                   std::coroutine_handle<> frame) noexcept override;
  runtime_core& core_;
  task<>::handle frame_;
  coro::blocking_signal* ended_;
  bool resident_;
};

}  // namespace coracle::runtime_internal
