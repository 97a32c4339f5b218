#include "coracle/coro/impl/primitive.hpp"

namespace coracle::coro {

letter_box::letter_box(void* owner, reader r) noexcept : owner_(owner), reader_(r) {
  run = [](work& w) noexcept {
    auto& self = static_cast<letter_box&>(w);
    self.read([&self](void* to) { self.reader_(to, self.calls_.exchange(0, std::memory_order_acq_rel)); });
  };
}

letter_box& letter_box::at(std::atomic<letter_box*>& place, void* owner, reader r) {
  letter_box* there = place.load(std::memory_order_acquire);
  if (there) return *there;
  auto* made = new letter_box(owner, r);
  if (place.compare_exchange_strong(there, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *there;
}

void letter_box::call(home& to, std::uint64_t n) noexcept {
  if (n == 0) return;  // adding 0 would not show that a call is in flight
  if (calls_.fetch_add(n, std::memory_order_acq_rel) != 0) return;
  hold();
  to.post(*this);
}

bool letter_box::close() noexcept {
  bool under_way;
  {
    const std::lock_guard lock(reading_);
    owner_ = nullptr;
    under_way = calls_under_way();
  }
  drop();
  return under_way;
}

void letter_box::drop() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

}  // namespace coracle::coro
