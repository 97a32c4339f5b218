// sync_wait: blocks a plain thread until a task that runs on a runtime has ended.
#pragma once

#include "coracle/coro/block_on.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/runtime.hpp"

#include <utility>

namespace coracle {

/// Runs `t` as a root task of `rt` on the loop `where`, starts the runtime if no thread drives it, and blocks
/// this thread until the task has ended. Returns the task's value or throws its exception, which does not
/// count as an exception that left a root task; throws coro::cancelled when the runtime was stopped and the
/// task ended because of that. On a thread that drives a loop it throws usage_error, in release builds too,
/// because it would wait for itself. In a simulation it runs the simulated world until the task has ended.
template <class T>
T sync_wait(runtime& rt, loop& where, task<T> t) {
  coro::require_no_executor();
  coro::blocking_result<T> result;
  rt.spawn_and_wait(where, coro::blocking_result<T>::fill(std::move(t), result));
  return result.take();
}

/// The same on the next loop in round-robin order.
template <class T>
T sync_wait(runtime& rt, task<T> t) {
  return sync_wait(rt, rt.next(), std::move(t));
}

}  // namespace coracle
