// unpacking: one compressed message of a peer's on its way to being decompressed, in as many steps as the loop allows.
#pragma once

#include "base/output_buffer.hpp"
#include "compress/coder.hpp"
#include "coracle/base/bytes.hpp"
#include "coracle/base/status.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace coracle::rpc {

// Borrows a coder and a buffer from the loop's message_workspace, and returns them when it is destroyed. Lives on
// one loop.
class unpacking {
 public:
  // `e`: as the peer's grpc-encoding says; identity for none.
  explicit unpacking(encoding e);
  unpacking(unpacking&& other) noexcept;
  unpacking& operator=(unpacking&&) = delete;
  ~unpacking();

  // `packed` is the whole compressed message, the same at each step. Reads and makes about `step_bytes`. True when the
  // message has ended: why() says whether it is good, and body() is it then, valid as long as this.
  bool step(bytes_view packed, std::uint32_t most_bytes, std::size_t step_bytes);
  [[nodiscard]] const status& why() const noexcept { return why_; }
  [[nodiscard]] bytes_view body() const noexcept { return made_.pending(); }
  // What was read and made so far: the work that was done.
  [[nodiscard]] std::size_t work_bytes() const noexcept { return read_bytes_ + made_.size(); }
  // The message so far, and about what the library keeps of it as its window.
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return made_.capacity() + made_.size(); }

 private:
  encoding encoding_;
  std::unique_ptr<compress::coder> coder_;
  std::size_t read_bytes_ = 0;
  base::output_buffer made_;
  status why_;
};

}  // namespace coracle::rpc
