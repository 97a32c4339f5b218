// pipe: bytes go in at one end and come out at the other.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/net/input.hpp"
#include "coracle/net/output.hpp"

#include <memory>

namespace coracle::net {

// Two ends of one pipe, each to be moved out and closed on its own.
class pipe_ends {
 public:
  input read_end;
  output write_end;

 private:
  friend result<pipe_ends> pipe();
  pipe_ends(std::unique_ptr<open_descriptor> from, std::unique_ptr<open_descriptor> into) noexcept;
};

// On the current loop; the system bounds what a pipe holds (64 KiB), and a writer waits beyond it.
// RESOURCE_EXHAUSTED when the process is out of descriptors.
result<pipe_ends> pipe();

}  // namespace coracle::net
