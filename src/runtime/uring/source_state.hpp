// The state of multishot sources over io_uring.
#pragma once

#include "runtime/backend.hpp"

#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/coro/impl/pooled.hpp"

#include <cstdint>
#include <list>
#include <vector>

namespace coracle::runtime_internal {

// One receive_source. A pause is lazy: the request stays in the kernel until bytes come meanwhile;
// these are copied aside and the request is cancelled. What comes until the cancel took effect is
// bounded by the ring's receive buffers, since the kernel sees the cancel first in the next turn.
struct receiver_state : base::list_hook, coro::pooled {
  handle on = no_handle;
  receive_source* source = nullptr;
  bool armed = false;        // a request is in the kernel
  bool cancelling = false;   // and was asked to end
  bool limited = false;      // which ends after so many bytes
  bool by_hand = false;      // no multishot here: poll, then recv()
  bool paused = false;
  bool stopping = false;
  bool has_end = false;
  std::int64_t end = 0;
  std::list<std::vector<std::uint8_t>> held;  // empty as a rule, and takes nothing then
};

struct acceptor_state : base::list_hook, coro::pooled {
  handle on = no_handle;
  accept_source* source = nullptr;
  bool armed = false;
  bool single = false;  // one accept a request
  bool stopping = false;
  time_point rests_until{};
};

}  // namespace coracle::runtime_internal
