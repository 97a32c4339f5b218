// letter_box: the queue of remote calls of a primitive, that is, of calls from off its owner loop.
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

// The first remote call makes this object; the primitive and the calls in flight share it. So a primitive may
// be destroyed while remote calls are in flight: they then find no owner. Any thread may use it.
class letter_box : work {
 public:
  // Handles remote calls on the owner loop: `calls` is the sum of all calls that arrive together.
  using reader = void (*)(void* owner, std::uint64_t calls) noexcept;
  // Returns the queue stored in `place`; makes it if there is none.
  static letter_box& at(std::atomic<letter_box*>& place, void* owner, reader r);
  static void* operator new(std::size_t n) { return frame_pool::allocate(n); }
  static void operator delete(void* p, std::size_t n) noexcept { frame_pool::deallocate(p, n); }

  // Adds n to the pending calls. All calls until the next read share one runnable.
  void call(home& to, std::uint64_t n) noexcept;
  [[nodiscard]] bool calls_under_way() const noexcept { return calls_.load(std::memory_order_acquire) != 0; }
  // Has `f` called on the owner loop. Allocates.
  template <class F>
  void send(home& to, F f) {
    hold();
    to.post(*new letter<F>(*this, std::move(f)));
  }
  // For the owner's destructor: waits while a call is being handled; no call is handled after that. Returns
  // whether calls (not those of send()) were in flight.
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
  std::mutex reading_;  // guards owner_; held by the owner loop while it reads, and once by close()
  void* owner_;
  reader reader_;
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint32_t> references_{1};
};

}  // namespace coracle::coro
