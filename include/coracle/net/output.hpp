// output: writes bytes to a pipe, a terminal, a device or a redirected file, for coroutines.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"

#include <memory>

namespace coracle::net {

class open_descriptor;  // private: a descriptor and the operation that waits on it

/// The writing end of a pipe, a terminal, a device or a redirected file. The rules of net::input apply: lives
/// on the loop on which it was made, at most one write may be in flight, and the mode of the descriptor stays
/// unchanged.
class output {
 public:
  /// Makes a closed output.
  output() noexcept;
  output(output&&) noexcept;
  output& operator=(output&&) noexcept;
  /// Closes the output if close() was not called. No write may be in flight.
  ~output();

  /// Makes an output on the current loop, which closes `descriptor` with the output. Fails with UNIMPLEMENTED
  /// in a simulation.
  static result<output> adopt(int descriptor);
  /// The same, but leaves `descriptor` to the caller, who must keep it open while the output exists.
  static result<output> borrow(int descriptor);

  /// Writes all of `bytes`, which must stay in place until the await ends. Fails with UNAVAILABLE when the
  /// reader has closed its end; no SIGPIPE is raised. After a write that fails or ends early it is unknown
  /// how much was written.
  [[nodiscard]] task<status> write(bytes_view bytes);

  /// Closes the output. No write may be in flight. The reader of a pipe receives the remaining bytes, then
  /// the end.
  void close() noexcept;
  /// Returns whether the output is open.
  [[nodiscard]] bool is_open() const noexcept { return descriptor_ != nullptr; }

 private:
  friend class pipe_ends;
  explicit output(std::unique_ptr<open_descriptor> opened) noexcept;
  std::unique_ptr<open_descriptor> descriptor_;
};

/// Returns an output that borrows descriptor 1.
result<output> standard_output();

}  // namespace coracle::net
