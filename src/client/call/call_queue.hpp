// call_queue: calls that wait for a server or a stream. The most critical ones leave first.
#pragma once

#include "client/call/call_attempt.hpp"
#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/rpc/criticality.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace coracle::client {

// For one loop. Has what base::intrusive_list has: calls leave by themselves when they end. Calls of one
// criticality leave in the order in which they came.
class call_queue {
 public:
  [[nodiscard]] bool empty() const noexcept {
    if (!occupied_) [[likely]]
      return true;
    return !first();
  }
  void push_back(call_attempt& a) noexcept {
    const auto level = static_cast<std::size_t>(a.terms().criticality());
    levels_[level].push_back(a);
    occupied_ |= 1u << level;
  }
  [[nodiscard]] call_attempt* front() noexcept {
    auto* const of = first();
    return of ? of->front() : nullptr;
  }
  call_attempt* pop_front() noexcept {
    auto* const of = first();
    return of ? of->pop_front() : nullptr;
  }
  // Moves all calls of `other` behind those of this queue with their criticality.
  void take(call_queue& other) noexcept {
    for (std::size_t i = 0; i < levels_.size(); ++i) levels_[i].take(other.levels_[i]);
    occupied_ |= std::exchange(other.occupied_, 0u);
  }

 private:
  // The list of the highest level that has calls; null if none has.
  [[nodiscard]] base::intrusive_list<call_attempt>* first() const noexcept {
    for (std::size_t i = levels_.size(); i-- > 0;)
      if (!levels_[i].empty()) return &levels_[i];
    occupied_ = 0;
    return nullptr;
  }

  mutable std::array<base::intrusive_list<call_attempt>, 4> levels_;  // by criticality
  mutable unsigned occupied_ = 0;  // levels that may have calls, as bits
};

}  // namespace coracle::client
