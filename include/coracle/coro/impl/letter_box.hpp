// letter_box: calls of a primitive from elsewhere, on their way to its home.
#pragma once

#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/impl/home.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

namespace coracle::coro {

// Made by the first call from elsewhere, shared by the primitive and what is under way, so that a
// primitive may go while calls are on their way to it: they then find nobody. Any thread.
class letter_box : work {
 public:
  // Reads what was called, at home: the sum of all calls that came together.
  using reader = void (*)(void* owner, std::uint64_t calls) noexcept;
  // The box at `place`, made if there is none.
  static letter_box& at(std::atomic<letter_box*>& place, void* owner, reader r);
  static void* operator new(std::size_t n) { return frame_pool::allocate(n); }
  static void operator delete(void* p, std::size_t n) noexcept { frame_pool::deallocate(p, n); }

  // Calls add up to one work until they are read.
  void call(home& to, std::uint64_t n) noexcept;
  [[nodiscard]] bool calls_under_way() const noexcept { return calls_.load(std::memory_order_acquire) != 0; }
  // Has `f` called at home.
  template <class F>
  void send(home& to, F f) {
    hold();
    to.post(*new letter<F>(*this, std::move(f)));
  }
  // By the owner at its end: waits while something is being read, and nothing is read any more. True if
  // calls (not letters) were on their way.
  bool close() noexcept;

 private:
  template <class F>
  struct letter : work {
    letter(letter_box& b, F call) : box(b), f(std::move(call)) {
      this->run = [](work& w) noexcept {
        auto& self = static_cast<letter&>(w);
        self.box.read([&self](void*) { self.f(); });
        delete &self;
      };
    }
    letter_box& box;
    F f;
  };
  letter_box(void* owner, reader r) noexcept;
  void hold() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void drop() noexcept;
  template <class F>
  void read(F f) noexcept {
    {
      const std::lock_guard lock(reading_);
      if (owner_) f(owner_);
    }
    drop();
  }
  std::mutex reading_;  // of owner_; taken by the home while it reads, and once by the owner
  void* owner_;
  reader reader_;
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint32_t> references_{1};
};

}  // namespace coracle::coro
