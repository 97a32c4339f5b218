#include "client/call/waiting_calls.hpp"

#include "base/if_memory_allows.hpp"
#include "client/call/call_attempt.hpp"

#include <cstddef>
#include <memory>

namespace coracle::client {

call_attempt* waiting_calls::enter(call_attempt& a) noexcept {
  if (max_ == no_maximum || a.has_waiting_place()) return nullptr;
  std::unique_ptr<waiting_place> place;
  if (!base::if_memory_allows([&] { place = std::make_unique<waiting_place>(*this, a); })) return nullptr;
  levels_[static_cast<std::size_t>(a.terms().criticality())].push_back(*place);
  a.hold_waiting_place(std::move(place));
  if (++size_ <= max_) return nullptr;
  if (a.has_siblings()) return &a;
  for (auto& level : levels_)
    if (const waiting_place* const first = level.front()) return &first->of();
  return nullptr;
}

}  // namespace coracle::client
