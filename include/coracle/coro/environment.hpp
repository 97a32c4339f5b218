// environment: what a task inherits from whoever awaits it: when to stop, by when, and on whose behalf.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/coro/impl/task_tree.hpp"
#include "coracle/coro/stop_token.hpp"

#include <coroutine>
#include <exception>

namespace coracle::coro {

// Owned by the root of a tree of tasks (an RPC, a scope, a timeout), pointed to by every promise
// below it, and outlives them. A default one never stops.
struct environment {
  stop_token stop;
  time_point deadline = never;
  // The call that this work is done for; opaque here, known to the room `rpc`.
  const void* call = nullptr;
};

// What an unrooted task runs under.
inline constinit const environment no_environment{};

// Thrown out of a co_await whose operation was stopped and that has no other way to say so. Let it
// pass: it unwinds to the root that asked for the stop.
class cancelled : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "coracle: the task was asked to stop"; }
};

// Whether `error` (null: no) is a coro::cancelled.
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

template <class Promise>
concept has_environment = requires(const Promise& p) { p.inherited(); };

// The environment behind any coroutine handle: that of our promises, none for foreign ones.
template <class Promise>
const environment& environment_of(std::coroutine_handle<Promise> h) noexcept {
  if constexpr (has_environment<Promise>) return h.promise().inherited();
  else return no_environment;
}

// `const environment& here = co_await this_environment();` never suspends.
class this_environment {
 public:
  this_environment() noexcept = default;
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    found_ = &environment_of(h);
    tree_node::set_asker(node_of(h));
    return false;
  }
  const environment& await_resume() const noexcept { return *found_; }

 private:
  const environment* found_ = nullptr;
};

}  // namespace coracle::coro
