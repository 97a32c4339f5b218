// run_blocking(): has a loop run one wait, and blocks the thread until it has ended.
#pragma once

#include "adapters/grpcpp/src/server/callback_method.hpp"
#include "adapters/grpcpp/src/threads/queue_driver.hpp"

#include "coracle/coro/block_on.hpp"
#include "coracle/coro/outcome.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/start.hpp"

#include <optional>
#include <utility>

namespace grpc::internal {

// Before the thread blocks in a function of this API. Throws usage_error on a loop.
inline void before_blocking() {
  coracle::coro::require_no_executor();
  callback_method::caller_blocks();
  queue_driver::caller_leaves();
}

// Returns what co_await of `wait` would, or throws what it would. One coroutine frame, and one message in
// each direction. Throws usage_error on a loop.
template <class Wait>
auto run_blocking(coracle::loop& where, Wait wait) {
  using value = coracle::coro::awaited_t<Wait>;
  before_blocking();
  std::optional<coracle::outcome<value>> result;
  coracle::coro::blocking_signal ended;
  struct done {
    std::optional<coracle::outcome<value>>* to;
    coracle::coro::blocking_signal* signal;
    void operator()(coracle::outcome<value> o) const {
      to->emplace(std::move(o));
      signal->set();
    }
  };
  coracle::operation<Wait, done> running(std::in_place, std::move(wait), done{&result, &ended});
  running.start(where);
  ended.wait();
  return std::move(*result).value();
}

}  // namespace grpc::internal
