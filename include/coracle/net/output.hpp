// output: bytes into a pipe, a terminal, a device or a redirected file, for coroutines.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"

#include <memory>

namespace coracle::net {

class open_descriptor;  // private: a descriptor and what waits on it

// The other direction of input, with the same rules: its loop, one write at a time, nothing about the descriptor
// is changed.
class output {
 public:
  output() noexcept;
  output(output&&) noexcept;
  output& operator=(output&&) noexcept;
  // Closes, if close() was not called. No write may be waiting.
  ~output();

  // As those of input.
  static result<output> adopt(int descriptor);
  static result<output> borrow(int descriptor);

  // All of the bytes; they must stay in place until the await ends. UNAVAILABLE when nobody reads any more; no
  // SIGPIPE comes. After a write that fails or ends early nobody knows how much has left.
  [[nodiscard]] task<status> write(bytes_view bytes);

  // Nothing may be waiting. The reader of a pipe gets the rest, then the end.
  void close() noexcept;
  [[nodiscard]] bool is_open() const noexcept { return descriptor_ != nullptr; }

 private:
  friend class pipe_ends;
  explicit output(std::unique_ptr<open_descriptor> opened) noexcept;
  std::unique_ptr<open_descriptor> descriptor_;
};

// Descriptor 1, borrowed.
result<output> standard_output();

}  // namespace coracle::net
