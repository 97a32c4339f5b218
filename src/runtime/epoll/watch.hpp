// watch: what the epoll backend knows of one descriptor.
#pragma once

#include "runtime/backend.hpp"
#include "runtime/kernel/operation_list.hpp"

#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/coro/impl/pooled.hpp"

#include <cstdint>

namespace coracle::runtime_internal {

// A multishot source: in the backend's work list (an attempt or its end is due), resting after
// exhaustion, or parked, when its watch alone points to it.
struct source_state : base::list_hook, coro::pooled {
  receive_source* receiver = nullptr;  // one of the two
  accept_source* acceptor = nullptr;
  handle on = no_handle;
  bool paused = false;
  bool ready = false;  // paused while there may be something to read
  bool stopping = false;
  bool resting = false;  // edges do not end a rest
};

// Registered with epoll (edge-triggered, both directions) when something first has to wait, until close.
struct alignas(64) watch {
  operation_list readers;
  operation_list writers;
  source_state* source = nullptr;
  std::uint32_t generation = 0;  // counts the descriptors that had this number: tells late events apart
  bool registered = false;
  bool peer_is_done = false;  // half-closed or broken: a short read does not mean "drained"
  bool drained = false;       // registered, and nothing to receive until there is an edge
  [[nodiscard]] bool idle() const noexcept { return readers.empty() && writers.empty() && !source; }
};

}  // namespace coracle::runtime_internal
