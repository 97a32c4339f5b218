// decompression: decompresses one message of a peer, in as many steps as the loop's budget requires.
#pragma once

#include "base/output_buffer.hpp"
#include "compress/coder.hpp"
#include "coracle/base/bytes.hpp"
#include "coracle/base/status.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace coracle::rpc {

// Borrows a coder and a buffer from the loop's message_workspace; the destructor returns them. Lives on one
// loop.
class decompression {
 public:
  // `e`: the peer's grpc-encoding; identity if there is none.
  explicit decompression(encoding e);
  decompression(decompression&& other) noexcept;
  decompression& operator=(decompression&&) = delete;
  ~decompression();

  // `compressed` is the whole compressed message, the same at each step. Reads and produces about
  // `step_bytes`. Returns true when the message has ended: failure() then says whether it is valid, and
  // body() is its content, which lives as long as this object.
  bool step(bytes_view compressed, std::uint32_t max_bytes, std::size_t step_bytes);
  [[nodiscard]] const status& failure() const noexcept { return failure_; }
  // Whether the stream has no encoding: the message's flag, and not its bytes, is at fault.
  [[nodiscard]] bool lacks_encoding() const noexcept { return encoding_ == encoding::identity; }
  [[nodiscard]] bytes_view body() const noexcept { return made_.pending(); }
  // The bytes that were read and produced so far, and what the library has set up for them: the work that was
  // done.
  [[nodiscard]] std::size_t work_bytes() const noexcept {
    return read_bytes_ + made_.size() + (coder_ ? coder_->setup_cost_bytes() : 0);
  }
  // The message so far, and the approximate size of the window that the compression library keeps.
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return made_.capacity() + made_.size(); }

 private:
  encoding encoding_;
  std::unique_ptr<compress::coder> coder_;
  std::size_t read_bytes_ = 0;
  base::output_buffer made_;
  status failure_;
};

}  // namespace coracle::rpc
