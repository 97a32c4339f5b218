// handle_errors: a root task with a handler of its own for what escapes from it.
#pragma once

#include "coracle/coro/environment.hpp"
#include "coracle/coro/task.hpp"

#include <exception>
#include <utility>

namespace coracle::coro {

// Behind runtime::spawn(task, on_error). coro::cancelled is no error once its root was asked to stop.
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
