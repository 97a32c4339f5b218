// stream_coder: decompression in steps, for encodings whose libraries work piece by piece.
#pragma once

#include "compress/coder.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace coracle::compress {

// Implements decompress_step() as a loop. A derived class calls its library once per piece.
class stream_coder : public coder {
 public:
  decompress_result decompress_step(bytes_view& from, std::size_t max_bytes, std::size_t step_bytes,
                                    base::output_buffer& to) override;

 protected:
  enum class frame : std::uint8_t { open, ended, broken, no_memory };
  struct piece {
    std::size_t read_bytes = 0;
    std::size_t written_bytes = 0;
    frame state = frame::broken;
  };
  // Reads from `from` and writes to `to` until one of them is used up. Each is at most piece_bytes long.
  virtual piece decompress_piece(bytes_view from, std::span<std::uint8_t> to) noexcept = 0;
  // A frame has ended and bytes follow it: prepares for another frame of the same message. Returns false if a
  // message consists of a single frame.
  virtual bool begin_next_frame() noexcept { return false; }
};

}  // namespace coracle::compress
