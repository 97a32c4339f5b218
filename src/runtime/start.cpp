#include "coracle/runtime/start.hpp"

#include "runtime/runtime_core.hpp"

#include <coroutine>
#include <utility>

namespace coracle::runtime_internal {

namespace {

void make_root(coro::promise_base& of, loop& where, coro::completion& end) noexcept {
  where.owner().core().add_root();
  of.inherit(where.environment());
  of.set_completion(end);
}

}  // namespace

void root_coroutine::promise_type::begin(loop& on) noexcept {
  where_ = &on;
  make_root(*this, on, *this);
  promise_base::begin(frame(), *this);
}

void root_coroutine::promise_type::post(loop& to) noexcept {
  where_ = &to;
  make_root(*this, to, *this);
  run = [](coro::runnable& w) noexcept {
    auto& self = static_cast<promise_type&>(w);
    promise_base::begin(self.frame(), self);
  };
  where_->post(*this);
}

std::coroutine_handle<> root_coroutine::promise_type::finished(coro::promise_base&,
                                                               std::coroutine_handle<> frame) noexcept {
  runtime_core& core = where_->owner().core();
  if (error_) core.root_failed(std::move(error_));
  frame.destroy();
  core.end_root();
  return std::noop_coroutine();
}

void root_coroutine::later::await_suspend(std::coroutine_handle<>) noexcept {
  of_.run = [](coro::runnable& w) noexcept { static_cast<promise_type&>(w).frame().resume(); };
  of_.where_->post(of_);
}

}  // namespace coracle::runtime_internal
