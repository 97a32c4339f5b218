// unwatched: a coroutine that nobody waits for. It starts at once and frees itself at its end.
#pragma once

#include "coracle/coro/impl/frame_pool.hpp"

#include <coroutine>
#include <cstddef>
#include <exception>

namespace coracle::coro {

// For the primitives' own use: what it does has to be ended by somebody (a channel's close(), say),
// and must not throw. Tasks of programs belong into a scope or a runtime.
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
