// An event: coroutines wait for it, and continue when another part of the program sets it.
#pragma once

#include <coroutine>

namespace lab {

class event {
 public:
  class awaiter {
   public:
    explicit awaiter(event& of) noexcept : of_(of) {}

    // Step 1: do not suspend if the event is set.
    bool await_ready() const noexcept { return true; }

    // Step 2: keep the handle, and append this awaiter to the list of the event. The awaiter lives in the frame of
    // the coroutine that waits, so the list needs no memory of its own.
    void await_suspend(std::coroutine_handle<>) noexcept {}

    void await_resume() const noexcept {}

   private:
    friend class event;
    [[maybe_unused]] event& of_;
    [[maybe_unused]] awaiter* next_ = nullptr;
    std::coroutine_handle<> waiter_;
  };

  [[nodiscard]] bool is_set() const noexcept { return set_; }
  awaiter operator co_await() noexcept { return awaiter(*this); }

  // Step 3: set the event, take the whole list, and resume its coroutines in the order in which they came. A
  // coroutine that continues destroys its awaiter: read `next_` before you resume.
  void set() {}

 private:
  bool set_ = false;
  [[maybe_unused]] awaiter* first_ = nullptr;
  [[maybe_unused]] awaiter** end_ = &first_;  // the pointer that a new awaiter is put into
};

}  // namespace lab
