// wait_until: a wait for an event that ends at a time, too.
#pragma once

#include "coracle/coro/event.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/coro/with_timeout.hpp"

namespace coracle::xds {

inline task<> wait_for(event<>& e) { co_await e; }

// Until the event is set, or the time has come.
inline task<> wait_until(event<>& e, time_point until) {
  if (until == never) {
    co_await e;
    co_return;
  }
  const duration left = until - coro::this_executor().now();
  if (left <= duration::zero()) co_return;
  (void)co_await with_timeout(left, wait_for(e));
}

}  // namespace coracle::xds
