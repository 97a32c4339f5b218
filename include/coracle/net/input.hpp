// input: reads bytes from a pipe, a terminal, a device or a redirected file, for coroutines.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"

#include <cstddef>
#include <memory>

namespace coracle::net {

class open_descriptor;  // private: a descriptor and the operation that waits on it

/// The reading end of a pipe, a terminal, a device or a redirected file. Lives on the loop on which it was
/// made; only coroutines of that loop may use it. At most one read may be in flight, and the input must
/// outlive it. Does not change the mode of the descriptor: it stays blocking for the other programs that
/// share it, and the loop still waits without blocking.
class input {
 public:
  /// Makes a closed input.
  input() noexcept;
  input(input&&) noexcept;
  input& operator=(input&&) noexcept;
  /// Closes the input if close() was not called. No read may be in flight.
  ~input();

  /// Makes an input on the current loop, which closes `descriptor` with the input. Fails with UNIMPLEMENTED
  /// in a simulation, which has no descriptors of the machine; use pipe() there.
  static result<input> adopt(int descriptor);
  /// The same, but leaves `descriptor` to the caller, who must keep it open while the input exists.
  static result<input> borrow(int descriptor);

  /// Reads at least one and at most into.size() bytes, and returns their number: 0 at the end of a file, at
  /// the end of a pipe whose last writer has closed it, and at the end of a terminal's input (Ctrl-D). A
  /// terminal returns one line at a time. The bytes of `into` must stay in place until the await ends. Fails
  /// with CANCELLED on a stop and with DEADLINE_EXCEEDED when the environment's deadline passes; nothing was
  /// consumed then.
  [[nodiscard]] task<result<std::size_t>> read(mutable_bytes into);

  /// Closes the input. No read may be in flight.
  void close() noexcept;
  /// Returns whether the input is open.
  [[nodiscard]] bool is_open() const noexcept { return descriptor_ != nullptr; }

 private:
  friend class pipe_ends;
  explicit input(std::unique_ptr<open_descriptor> opened) noexcept;
  std::unique_ptr<open_descriptor> descriptor_;
};

/// Returns an input that borrows descriptor 0: what the user types, or what is redirected into the program.
result<input> standard_input();

}  // namespace coracle::net
