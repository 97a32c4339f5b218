// owned_frame: a coroutine handle that owns its frame.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <coroutine>
#include <utility>

namespace coracle::coro {

// For the return types of coroutines. Destroys the frame, wherever the coroutine is suspended; it must not
// run then.
template <class Promise>
class owned_frame {
 public:
  using handle = std::coroutine_handle<Promise>;

  owned_frame() noexcept = default;
  explicit owned_frame(handle h) noexcept : frame_(h) {}
  owned_frame(owned_frame&& other) noexcept : frame_(other.release()) {}
  owned_frame& operator=(owned_frame&& other) noexcept {
    if (this != &other) {
      reset();
      frame_ = other.release();
    }
    return *this;
  }
  ~owned_frame() { reset(); }

  // Null if there is no frame.
  [[nodiscard]] handle get() const noexcept { return frame_; }
  // Gives up ownership.
  [[nodiscard]] handle release() noexcept { return std::exchange(frame_, {}); }

 private:
  // The handle is null before the frame is destroyed: GCC 12 destroys some temporaries twice.
  void reset() noexcept {
    if (frame_) release().destroy();
  }
  handle frame_;
};

}  // namespace coracle::coro
