// call_log: the log of a task, with the trace ids of the call that the task works for.
#pragma once

#include "coracle/base/log.hpp"
#include "coracle/coro/environment.hpp"

namespace coracle {

/// Returns the logger of the current loop, for lines of log_room::application, with the ids of the trace of
/// the call that a task works for: that of the handler which the task belongs to, directly or below.
///
///   const coro::environment& here = co_await coro::this_environment();
///   coracle::call_log(here).info("the cache was filled", coracle::log_field("entries", size));
///
/// In a handler or an interceptor, server_context::log() is the same. Without a call, or without a trace,
/// lines have no ids. Outside of a loop it is stderr_logger(). Make it anew after a span has begun or ended.
/// Throws std::bad_alloc.
[[nodiscard]] bound_log call_log(const coro::environment& here);

}  // namespace coracle
