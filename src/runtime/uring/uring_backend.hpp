// make_uring_backend: the backend over io_uring, or the reason why there is none.
#pragma once

#include "runtime/backend.hpp"

#include "coracle/base/log.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace coracle::runtime_internal {

// Makes single probes fail, for tests of what is done then: see docs/internals/fallbacks.md.
struct uring_faults {
  int setup_error = 0;                // what io_uring_setup() fails with ...
  int setups_failing = 0;             // ... so many times a ring; 0 with an error: always
  std::size_t loops_with_rings = ~std::size_t{0};  // of a runtime: the later ones get ENOMEM
  int enter_error = 0;                // what io_uring_enter() fails with when probed
  bool no_wait_timeout = false;       // IORING_FEAT_EXT_ARG is missing
  bool no_cancel_any = false;         // IORING_ASYNC_CANCEL_ANY is unknown
  bool no_deferred_work = false;      // SINGLE_ISSUER and its kin are unknown
  bool no_registered_ring = false;    // IORING_REGISTER_RING_FDS is unknown
  bool no_multishot_poll = false;
  bool no_poll_first = false;         // IORING_RECVSEND_POLL_FIRST
  bool no_buffer_ring = false;
  bool no_multishot_receive = false;
  bool no_receive_limit = false;      // a multishot receive does not end by itself after some bytes
  bool no_multishot_accept = false;
  bool short_sends = false;           // the kernel takes a part of each message, whatever MSG_WAITALL says
  unsigned submission_entries = 0;    // > 0: a ring of this size
};

// What ails every backend that is made without faults of its own. Nothing, unless a test program says so
// before it makes the first.
uring_faults& injected_faults() noexcept;

// Probes by doing. Null, with the reason in `why`, where io_uring does not work. `log` must outlive the backend.
std::unique_ptr<backend> make_uring_backend(logger& log, std::string& why,
                                            const uring_faults& faults = injected_faults());

}  // namespace coracle::runtime_internal
