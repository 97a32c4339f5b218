// environment: what a task inherits from its awaiter: a stop token, a deadline, and the call and span it
// works for.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/coro/impl/task_tree.hpp"
#include "coracle/coro/stop_token.hpp"

#include <coroutine>
#include <exception>

namespace coracle::coro {

/// What a tree of tasks shares. The root of the tree (an RPC, a scope, a timeout) owns it and every promise
/// below points to it, so it must outlive all of them. A default-constructed environment never stops.
struct environment {
  stop_token stop;  ///< requests the tree to stop
  time_point deadline = never;  ///< when the tree is requested to stop at the latest
  /// The call that this work is done for. Opaque here; only src/rpc interprets it.
  const void* call = nullptr;
  /// The span of a trace in which this work is done, if it is not that of the call; opaque as `call` is.
  const void* span = nullptr;
};

/// The environment of tasks that have no root.
inline constinit const environment no_environment{};

/// Thrown by a co_await whose operation was stopped and which has no other way to report that. Let it
/// propagate: it unwinds to the root that requested the stop.
class cancelled : public std::exception {
 public:
  /// Returns a fixed text.
  [[nodiscard]] const char* what() const noexcept override { return "coracle: the task was asked to stop"; }
};

/// Returns whether `error` is a coro::cancelled; false for null.
[[nodiscard]] inline bool is_cancelled(const std::exception_ptr& error) noexcept {
  if (!error) return false;
  try {
    std::rethrow_exception(error);
  } catch (const cancelled&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// A promise type that has an environment.
template <class Promise>
concept has_environment = requires(const Promise& p) { p.inherited(); };

/// Returns the environment of a coroutine: that of the library's promises, or no_environment for other
/// promise types.
template <class Promise>
const environment& environment_of(std::coroutine_handle<Promise> h) noexcept {
  if constexpr (has_environment<Promise>) return h.promise().inherited();
  else return no_environment;
}

/// Returns the environment of the current coroutine: `const environment& here = co_await
/// this_environment();`. Never suspends. The reference is valid as long as the root of the task lives.
class this_environment {
 public:
  /// Await it: `co_await this_environment()`.
  this_environment() noexcept = default;
  /// @cond
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    found_ = &environment_of(h);
    tree_node::set_scope_creator(node_of(h));
    return false;
  }
  const environment& await_resume() const noexcept { return *found_; }
  /// @endcond

 private:
  const environment* found_ = nullptr;
};

}  // namespace coracle::coro
