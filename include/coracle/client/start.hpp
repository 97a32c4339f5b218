// start: runs an operation of a stub or a call outside a coroutine; the base of callbacks and of adapters.
#pragma once

#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/start.hpp"

#include <utility>

namespace coracle {

namespace client {

/// A unary call, or one operation of a streaming call.
template <class T>
concept holding_operation = coro::awaitable<T> && requires(T& t) { t.hold(); };

}  // namespace client

/// Runs a unary call, or one operation of a streaming call, and passes its outcome to `done(outcome<T>)`,
/// where T is what co_await would return: see start(loop, wait, done). Any thread may call this.
///
/// The call runs on the current loop, if that belongs to the channel's runtime, or else on a loop of that
/// runtime, and all operations of one call run on the same loop. `done` is called there, never inside this
/// call. Nothing that was passed by reference must outlive this call, except the message of read(): the
/// request of a unary call is serialized, or copied for interceptors, and the stub or the call object may be
/// destroyed at once. A call with a request of more than 256 KiB is not retried transparently (gRFC A6).
/// Destroying the object of a streaming call cancels the call: its operations end with CANCELLED.
template <client::holding_operation T, class Done>
started start(T operation, Done done, const coro::environment* inherited = nullptr) {
  loop& where = operation.hold();
  return runtime_internal::start_moved(where, std::move(operation), std::move(done), inherited);
}

}  // namespace coracle
