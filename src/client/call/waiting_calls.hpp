// waiting_calls: the calls of a channel that wait on one loop, if there is a maximum of them.
#pragma once

#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/coro/impl/frame_pool.hpp"

#include <array>
#include <cstdint>

namespace coracle::client {

class call_attempt;
class waiting_calls;

// Belongs to an attempt from when it begins to wait until it has a stream, ends, or goes on to something else
// than waiting: its destructor removes it from those that are counted. While the attempt waits, it may be in
// several queues one after the other, and keeps its place.
class waiting_place final : public base::list_hook, public coro::pooled {
 public:
  waiting_place(waiting_calls& among, call_attempt& of) noexcept : among_(among), of_(of) {}
  waiting_place(const waiting_place&) = delete;
  waiting_place& operator=(const waiting_place&) = delete;
  ~waiting_place();
  [[nodiscard]] call_attempt& of() const noexcept { return of_; }

 private:
  waiting_calls& among_;
  call_attempt& of_;
};

// Belongs to the shard of its loop, and outlives the places. Without a maximum, which is the common case, it
// has no places. It does not know which queue an attempt waits in, because one that is displaced leaves its
// queue by itself.
class waiting_calls {
 public:
  static constexpr std::uint32_t no_maximum = ~std::uint32_t{0};

  explicit waiting_calls(std::uint32_t maximum) noexcept : max_(maximum) {}
  waiting_calls(const waiting_calls&) = delete;
  waiting_calls& operator=(const waiting_calls&) = delete;

  // The attempt waits. If it has no place yet, it gets one. If there are too many places then, returns the
  // attempt that must give up its own: `a` itself if its call has other attempts, so that no hedge displaces
  // a call; else the first that came of the least critical ones, which may be `a`. Else null. Without memory
  // for a place, the attempt waits and is not counted.
  [[nodiscard]] call_attempt* enter(call_attempt& a) noexcept;
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

 private:
  friend class waiting_place;

  const std::uint32_t max_;
  std::uint32_t size_ = 0;
  std::array<base::intrusive_list<waiting_place>, 4> levels_;  // by criticality, in order of arrival
};

inline waiting_place::~waiting_place() {
  if (linked()) --among_.size_;
}

}  // namespace coracle::client
