// sync_wait: a plain thread waits for a task that runs on a runtime.
#pragma once

#include "coracle/coro/block_on.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/runtime.hpp"

#include <utility>

namespace coracle {

// Runs `t` as a root of `rt` on the loop `where`, starting the runtime if nobody drives it, and
// blocks this thread until the task has ended. Gives its value or throws what it threw (which does
// not count as escaping from a root); coro::cancelled when the runtime was stopped and the task
// gave way to that. On a thread that drives a loop it aborts, in release builds too: it would wait
// for itself. Over a simulation it runs the simulated world until the task has ended.
template <class T>
T sync_wait(runtime& rt, loop& where, task<T> t) {
  coro::refuse_to_block_an_executor();
  coro::blocking_result<T> result;
  rt.spawn_and_wait(where, coro::blocking_result<T>::fill(std::move(t), result));
  return result.take();
}

// The same on the next loop in turn.
template <class T>
T sync_wait(runtime& rt, task<T> t) {
  return sync_wait(rt, rt.next(), std::move(t));
}

}  // namespace coracle
