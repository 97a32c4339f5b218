// post_function: runs a callable on an executor, from any thread. Takes one allocation from the frame pool.
#pragma once

#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/frame_pool.hpp"

#include <memory>
#include <utility>

namespace coracle::coro {

// A runnable that owns its callable and deletes itself after it ran. For rare events; what happens in each
// call uses a runnable of its own.
template <class F>
class posted_function final : public runnable, public pooled {
 public:
  explicit posted_function(F f) : function_(std::move(f)) {
    run = [](runnable& w) noexcept {
      const std::unique_ptr<posted_function> self(static_cast<posted_function*>(&w));
      self->function_();
    };
  }

 private:
  F function_;
};

template <class F>
void post_function(executor& on, F f) {
  on.post(*new posted_function<F>(std::move(f)));
}

}  // namespace coracle::coro
