// spawn: starts a task on the current loop.
#pragma once

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/runtime.hpp"

#include <exception>
#include <functional>
#include <type_traits>
#include <utility>

namespace coracle {

namespace runtime_internal {

inline loop& loop_to_spawn_on() {
  loop* const here = loop::current();
  CORACLE_REQUIRE(here, "spawn() requires a loop: call it in a task, or use runtime::spawn()");
  return *here;
}

}  // namespace runtime_internal

/// Starts `t` as a root task on the current loop, later and never inside this call: the same as
/// `loop::current()->owner().spawn_on(*loop::current(), t)`. The task does not end with its caller, inherits
/// neither its deadline nor its stop token, and stops when the runtime does; use a scope for tasks that must
/// not outlive their caller. What the arguments of the task refer to must outlive it. Throws usage_error on a
/// thread that drives no loop, and if the task is empty or has ended.
inline void spawn(task<> t) {
  loop& here = runtime_internal::loop_to_spawn_on();
  here.owner().spawn_on(here, std::move(t));
}
/// The same with a separate error handler: an exception that leaves `t` is passed to on_error, as a
/// std::exception_ptr, on the same loop. Without one, it is logged and stops the runtime: see runtime.
template <class OnError>
  requires std::is_invocable_v<OnError&, std::exception_ptr>
void spawn(task<> t, OnError on_error) {
  loop& here = runtime_internal::loop_to_spawn_on();
  here.owner().spawn_on(here, std::move(t), std::move(on_error));
}
/// Calls spawn(fn(args...)) for a function or a lambda without captures, as runtime::spawn() does.
template <class Fn, class... Args>
  requires std::is_invocable_r_v<task<>, Fn, Args...>
void spawn(Fn&& fn, Args&&... args) {
  static_assert(std::is_empty_v<std::remove_cvref_t<Fn>> || std::is_pointer_v<std::decay_t<Fn>>,
                "pass what the lambda captures as arguments: its captures end before the coroutine does");
  spawn(std::invoke(std::forward<Fn>(fn), std::forward<Args>(args)...));
}

}  // namespace coracle
