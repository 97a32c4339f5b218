#include "coracle/coro/impl/primitive.hpp"

namespace coracle::coro {

remote_queue::remote_queue(void* owner, handler r) noexcept : owner_(owner), handler_(r) {
  run = [](runnable& w) noexcept {
    auto& self = static_cast<remote_queue&>(w);
    self.read([&self](void* to) { self.handler_(to, self.calls_.exchange(0, std::memory_order_acq_rel)); });
  };
}

remote_queue& remote_queue::at(std::atomic<remote_queue*>& place, void* owner, handler r) {
  remote_queue* there = place.load(std::memory_order_acquire);
  if (there) return *there;
  auto* made = new remote_queue(owner, r);
  if (place.compare_exchange_strong(there, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *there;
}

void remote_queue::call(owner_loop& to, std::uint64_t n) noexcept {
  if (n == 0) return;  // adding 0 would not show that a call is in flight
  if (calls_.fetch_add(n, std::memory_order_acq_rel) != 0) return;
  hold();
  to.post(*this);
}

bool remote_queue::close() noexcept {
  bool under_way;
  {
    const std::lock_guard lock(reading_);
    owner_ = nullptr;
    under_way = has_pending_calls();
  }
  drop();
  return under_way;
}

void remote_queue::drop() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

}  // namespace coracle::coro
