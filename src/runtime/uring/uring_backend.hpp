// make_uring_backend: the backend over io_uring, or the reason why there is none.
#pragma once

#include "runtime/backend.hpp"

#include "coracle/base/log.hpp"

#include <memory>
#include <string>

namespace coracle::io {

// Makes single probes fail, for tests of what happens then.
struct uring_faults {
  int setup_error = 0;             // what io_uring_setup() fails with ...
  int setups_failing = 0;          // ... so many times; 0 with an error: always
  int enter_error = 0;             // what io_uring_enter() fails with when probed
  bool no_deferred_work = false;   // SINGLE_ISSUER and its kin are unknown
  bool no_buffer_ring = false;
  bool no_multishot_receive = false;
  bool no_multishot_accept = false;
  unsigned submission_entries = 0;  // > 0: a ring of this size
};

// Probes by doing. Null, with the reason in `why`, where io_uring does not work. `log` must outlive the backend.
std::unique_ptr<backend> make_uring_backend(logger& log, std::string& why, const uring_faults& faults = {});

}  // namespace coracle::io
