// An event: coroutines wait for it, and continue when another part of the program sets it.
#pragma once

#include <coroutine>
#include <utility>

namespace lab {

class event {
 public:
  class awaiter {
   public:
    explicit awaiter(event& of) noexcept : of_(of) {}

    bool await_ready() const noexcept { return of_.set_; }

    void await_suspend(std::coroutine_handle<> waiter) noexcept {
      waiter_ = waiter;
      *of_.end_ = this;
      of_.end_ = &next_;
    }

    void await_resume() const noexcept {}

   private:
    friend class event;
    event& of_;
    awaiter* next_ = nullptr;
    std::coroutine_handle<> waiter_;
  };

  [[nodiscard]] bool is_set() const noexcept { return set_; }
  awaiter operator co_await() noexcept { return awaiter(*this); }

  void set() {
    set_ = true;
    awaiter* a = std::exchange(first_, nullptr);
    end_ = &first_;
    while (a) {
      awaiter* const next = a->next_;
      a->waiter_.resume();
      a = next;
    }
  }

 private:
  bool set_ = false;
  awaiter* first_ = nullptr;
  awaiter** end_ = &first_;  // the pointer that a new awaiter is put into
};

}  // namespace lab
