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
  [[nodiscard]] std::size_t setup_cost_bytes() const noexcept override { return setup_cost_bytes_; }

 protected:
  // A frame that makes nothing takes 50 ns (gzip) to 90 ns (zstd) for 8 to 20 bytes; content takes 1 to 3 ns
  // a byte.
  static constexpr std::size_t frame_cost_bytes = 32;

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

  // begin_decompress() sets it to 0; a derived class adds what its library sets up.
  std::size_t setup_cost_bytes_ = 0;
};

}  // namespace coracle::compress
