// held_termination: defers SIGTERM for its lifetime, instead of letting it end the program.
#pragma once

#include "runtime/backend.hpp"

namespace coracle::runtime_internal::kernel {

// For a program that sets up before its loops can receive signals. Does not defer SIGINT: a user at the
// terminal may want to end the program at once. Any thread; at most one at a time.
class held_termination {
 public:
  // Defers nothing when all signal watches are in use.
  held_termination() noexcept;
  held_termination(const held_termination&) = delete;
  held_termination& operator=(const held_termination&) = delete;
  // If a SIGTERM arrived and was not taken, raises it again with the previous disposition, unless another
  // watch exists.
  ~held_termination();

  // Whether a SIGTERM arrived; if so, the caller must handle it.
  [[nodiscard]] bool take() noexcept;

 private:
  const std::int64_t events_;
};

}  // namespace coracle::runtime_internal::kernel
