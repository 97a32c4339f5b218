// stream_coder: decompression in steps, for the encodings whose libraries work piece by piece.
#pragma once

#include "compress/coder.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace coracle::compress {

// The loop around the library's function; a derived class calls that function once per piece.
class stream_coder : public coder {
 public:
  unpacked unpack_step(bytes_view& from, std::size_t most_bytes, std::size_t step_bytes,
                       base::output_buffer& to) override;

 protected:
  enum class frame : std::uint8_t { open, ended, broken, no_memory };
  struct piece {
    std::size_t read_bytes = 0;
    std::size_t made_bytes = 0;
    frame state = frame::broken;
  };
  // Reads from `from` and writes to `to`, as far as either goes. Both are at most piece_bytes.
  virtual piece unpack_piece(bytes_view from, std::span<std::uint8_t> to) noexcept = 0;
  // A frame has ended and bytes follow it: prepares for another frame of the same message. False where a message
  // is a single frame.
  virtual bool begin_next_frame() noexcept { return false; }
};

}  // namespace coracle::compress
