#include "coracle/server/impl/message_store.hpp"

#include "base/if_memory_allows.hpp"

#include <algorithm>
#include <utility>

namespace coracle::server_internal {

std::uint32_t assign_kind(std::atomic<std::uint32_t>& number) noexcept {
  if constexpr (!reuses_messages) return 0;
  static constinit std::atomic<std::uint32_t> last{0};
  std::uint32_t known = 0;
  const std::uint32_t next = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return number.compare_exchange_strong(known, next, std::memory_order_relaxed) ? next : known;
}

message_store::idle_timer::idle_timer(message_store& s) noexcept : of(s) {
  fire = [](coro::timer& t) noexcept { static_cast<idle_timer&>(t).of.free_unused(); };
}

message_store::message_store() noexcept : idle_(*this) {}

message_store::~message_store() {
  release();
  if (idle_.holder) loop_->disarm(idle_);
}

void message_store::limit(std::size_t budget_bytes, std::atomic<std::size_t>& accounted_in) noexcept {
  budget_bytes_ = std::min(budget_bytes, budget_bytes_max);
  accounted_in_ = &accounted_in;
}

// The object comes back for the first time, or enough was decoded into it since it was measured.
void message_store::measure(reusable& r, std::size_t wire_bytes) noexcept {
  const bool large = wire_bytes > wire_bytes_max && wire_bytes != not_known;
  if (r.kind_ == 0 || large) return destroy(r);
  r.clear();
  std::size_t bytes = r.functions_.memory_bytes(r);
  if (bytes == 0) {
    // Without a measurement it is used for one interval, in which it cannot grow by much.
    if (r.charged_bytes_ != 0) return destroy(r);
    bytes = object_bytes_min;
  }
  if (bytes > object_bytes_max || !make_room_for(r.kind_) || !charge(r, std::max(bytes, object_bytes_min)))
    return destroy(r);
  r.unmeasured_bytes_left_ = measuring_interval_bytes;
  keep(r);
}

bool message_store::charge(reusable& r, std::size_t bytes) noexcept {
  if (bytes > r.charged_bytes_ && bytes - r.charged_bytes_ > budget_bytes_ - accounted_bytes_) return false;
  count(bytes - r.charged_bytes_);
  r.charged_bytes_ = static_cast<std::uint32_t>(bytes);
  if (idle_.holder) return true;
  loop_ = &coro::this_executor();
  loop_->arm(idle_, deadline_after(loop_->now(), idle_interval));
  return true;
}

// `change` may be a negative number modulo 2^64; the unsigned sums wrap and are still right.
void message_store::count(std::size_t change) noexcept {
  accounted_bytes_ += change;
  if (accounted_in_ && change != 0) accounted_in_->fetch_add(change, std::memory_order_relaxed);
}

bool message_store::make_room_for(std::uint32_t kind) noexcept {
  if (kind < kinds_) return true;
  return base::if_memory_allows([&] {
    const std::uint32_t more = std::max(kind + 1, 2 * kinds_);
    auto larger = std::make_unique<reusable*[]>(more);
    std::copy(lists_.get(), lists_.get() + kinds_, larger.get());
    lists_ = std::move(larger);
    kinds_ = more;
  });
}

void message_store::destroy(reusable& r) noexcept {
  count(std::size_t{0} - r.charged_bytes_);
  r.functions_.destroy(r);
}

void message_store::release() noexcept {
  for (std::uint32_t kind = 0; kind < kinds_; ++kind)
    while (reusable* const r = lists_[kind]) {
      lists_[kind] = r->next_;
      destroy(*r);
    }
}

// The lists are stacks: if an object was not used for the whole interval, none below it was.
void message_store::free_unused() noexcept {
  for (std::uint32_t kind = 0; kind < kinds_; ++kind) {
    reusable** at = &lists_[kind];
    while (*at && (*at)->round_ == round_) at = &(*at)->next_;
    while (reusable* const r = *at) {
      *at = r->next_;
      destroy(*r);
    }
  }
  ++round_;
  if (accounted_bytes_ != 0) loop_->arm(idle_, deadline_after(loop_->now(), idle_interval));
}

}  // namespace coracle::server_internal
