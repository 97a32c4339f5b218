// make_uring_backend: makes the backend over io_uring, or reports why it cannot.
#pragma once

#include "runtime/backend.hpp"

#include "coracle/base/log.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace coracle::runtime_internal {

// Makes individual probes fail, to test the fallbacks: see docs/internals/fallbacks.md.
struct uring_faults {
  int setup_error = 0;                // the error of io_uring_setup() ...
  int setups_failing = 0;             // ... for this many calls per ring; 0 with an error: always
  std::size_t loops_with_rings = ~std::size_t{0};  // in a runtime: later loops get ENOMEM
  int enter_error = 0;                // the error of io_uring_enter() in a probe
  bool no_wait_timeout = false;       // IORING_FEAT_EXT_ARG is missing
  bool no_cancel_any = false;         // IORING_ASYNC_CANCEL_ANY is unknown
  bool no_deferred_work = false;      // SINGLE_ISSUER and related flags are unknown
  bool no_registered_ring = false;    // IORING_REGISTER_RING_FDS is unknown
  bool no_multishot_poll = false;
  bool no_poll_first = false;         // IORING_RECVSEND_POLL_FIRST
  bool no_buffer_ring = false;
  bool no_multishot_receive = false;
  bool no_receive_limit = false;      // a multishot receive has no byte limit after which it ends
  bool no_multishot_accept = false;
  bool short_sends = false;           // the kernel accepts a part of each message, despite MSG_WAITALL
  unsigned submission_entries = 0;    // > 0: the size of the ring
};

// The faults of every backend that is made without explicit faults. None by default; a test program sets them
// before it makes the first backend.
uring_faults& injected_faults() noexcept;

// Probes io_uring by using it. Returns null, with the reason in `reason`, where io_uring does not work. `log`
// must outlive the backend.
std::unique_ptr<backend> make_uring_backend(logger& log, std::string& reason,
                                            const uring_faults& faults = injected_faults());

}  // namespace coracle::runtime_internal
