// method_costs: the sums of what the measured calls of a method cost on one loop.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/rpc/call_cost.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace coracle::telemetry_internal {

struct method_costs {
  static constexpr std::size_t wait_kinds = 4;  // for messages, room and calls, and others

  std::uint64_t calls = 0;
  std::uint64_t heap_blocks = 0;
  duration running{};
  std::array<duration, wait_kinds> waiting{};

  void add(const call_cost& c) noexcept {
    add({.calls = 1,
         .heap_blocks = c.heap_blocks,
         .running = c.running,
         .waiting = {c.waiting_for_messages, c.waiting_for_room, c.waiting_for_calls, c.waiting_otherwise}});
  }
  void add(const method_costs& o) noexcept {
    calls += o.calls;
    heap_blocks += o.heap_blocks;
    running += o.running;
    for (std::size_t i = 0; i < wait_kinds; ++i) waiting[i] += o.waiting[i];
  }
};

}  // namespace coracle::telemetry_internal
