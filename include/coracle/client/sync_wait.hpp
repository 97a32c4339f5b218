// sync_wait: runs an operation of a stub or a call from a thread without a loop, and blocks.
#pragma once

#include "coracle/coro/task.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <utility>

namespace coracle {

/// @cond
namespace client {

template <class T>
concept blocking_operation = requires(T& t) {
  t.blocking_loop();
  t.await_resume();
};

template <blocking_operation T>
task<decltype(std::declval<T&>().await_resume())> await_here(T& operation) {
  co_return co_await operation;
}

}  // namespace client
/// @endcond

/// Runs one operation of a call (or a whole unary call) on the loop of the call, and blocks the calling
/// thread until it ends. Returns what co_await would return, and throws what it would throw.
///
/// Must not be called on a loop: it throws usage_error there. It starts the loop's runtime if nothing drives
/// it.
///
///   auto reply = coracle::sync_wait(stub.AddMovie(movie, coracle::within(1s)));
template <client::blocking_operation T>
auto sync_wait(T&& operation) {
  coro::require_no_executor();
  loop& owner_loop = operation.blocking_loop();
  return sync_wait(owner_loop.owner(), owner_loop, client::await_here(operation));
}

}  // namespace coracle
