// unwatched: a detached coroutine. It starts immediately and frees itself at its end.
#pragma once

#include "coracle/coro/impl/frame_pool.hpp"

#include <coroutine>
#include <cstddef>
#include <exception>

namespace coracle::coro {

// For internal use by the primitives. Another call must end what it waits for (such as close() of a queue),
// and it must not throw. Tasks of programs belong in a scope or in a runtime.
struct unwatched {
  struct promise_type {
    static void* operator new(std::size_t n) { return frame_pool::allocate_frame(n); }
    static void operator delete(void* p, std::size_t n) noexcept { frame_pool::deallocate(p, n); }
    unwatched get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
  };
};

}  // namespace coracle::coro
