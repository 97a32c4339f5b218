// input: bytes from a pipe, a terminal, a device or a redirected file, for coroutines.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"

#include <cstddef>
#include <memory>

namespace coracle::net {

class open_descriptor;  // private: a descriptor and what waits on it

// Lives on the loop it was made on; all of it is for that loop's coroutines. One read waits at a time, and the
// input must outlive it. Nothing else of the descriptor is changed: it stays blocking for the other programs
// that share it, and the loop waits for it all the same.
class input {
 public:
  input() noexcept;
  input(input&&) noexcept;
  input& operator=(input&&) noexcept;
  // Closes, if close() was not called. No read may be waiting.
  ~input();

  // Over a descriptor that is closed with the input, or with borrow() stays the caller's, who keeps it open as
  // long. On the current loop. UNIMPLEMENTED in a simulation, where a descriptor of the machine has no place;
  // pipe() has one.
  static result<input> adopt(int descriptor);
  static result<input> borrow(int descriptor);

  // At least one byte, at most into.size(); 0 at the end: of the file, of the pipe when its last writer has
  // gone, of a terminal's input (Ctrl-D). A terminal gives a line at a time. The bytes must stay in place until
  // the await ends. CANCELLED on a stop and DEADLINE_EXCEEDED by the environment's deadline, with nothing taken.
  [[nodiscard]] task<result<std::size_t>> read(mutable_bytes into);

  // Nothing may be waiting.
  void close() noexcept;
  [[nodiscard]] bool is_open() const noexcept { return descriptor_ != nullptr; }

 private:
  friend class pipe_ends;
  explicit input(std::unique_ptr<open_descriptor> opened) noexcept;
  std::unique_ptr<open_descriptor> descriptor_;
};

// What the user types, or what is redirected into the program: descriptor 0, borrowed.
result<input> standard_input();

}  // namespace coracle::net
