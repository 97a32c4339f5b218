// handle_errors: a root task with its own handler for exceptions that leave it.
#pragma once

#include "coracle/coro/environment.hpp"
#include "coracle/coro/task.hpp"

#include <exception>
#include <utility>

namespace coracle::coro {

// Implements runtime::spawn(task, on_error). coro::cancelled is not an error after the root task was
// requested to stop.
template <class OnError>
task<> handle_errors(task<> t, OnError on_error) {
  const environment& here = co_await this_environment();
  try {
    co_await std::move(t);
  } catch (const cancelled&) {
    if (!here.stop.stop_requested()) on_error(std::current_exception());
  } catch (...) {
    on_error(std::current_exception());
  }
}

}  // namespace coracle::coro
