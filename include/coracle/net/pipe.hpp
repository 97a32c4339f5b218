// pipe: a pipe within the process, with an end to write to and an end to read from.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/net/input.hpp"
#include "coracle/net/output.hpp"

#include <memory>

namespace coracle::net {

/// The two ends of one pipe. Each may be moved out and closed separately.
class pipe_ends {
 public:
  input read_end;    ///< gives the bytes that were written
  output write_end;  ///< its close() ends the bytes of read_end

 private:
  friend result<pipe_ends> pipe();
  pipe_ends(std::unique_ptr<open_descriptor> from, std::unique_ptr<open_descriptor> into) noexcept;
};

/// Makes a pipe on the current loop. The system limits how much a pipe holds (64 KiB); a writer waits while
/// it is full. Fails with RESOURCE_EXHAUSTED when the process has no descriptors left.
result<pipe_ends> pipe();

}  // namespace coracle::net
