#include "compress/stream_coder.hpp"

#include <algorithm>

namespace coracle::compress {

decompress_result stream_coder::decompress_step(bytes_view& from, std::size_t max_bytes,
                                                std::size_t step_bytes, base::output_buffer& to) {
  std::size_t made = 0;
  std::size_t used = 0;
  while (used < step_bytes) {
    // Room for one byte more than allowed distinguishes a message of exactly that size from a larger one.
    const std::size_t set_up_before = setup_cost_bytes_;
    const std::size_t room = std::min(piece_bytes, max_bytes - made + 1);
    const piece p =
        decompress_piece(from.first(std::min(from.size(), piece_bytes)), {to.reserve(room), room});
    from = from.subspan(p.read_bytes);
    to.commit(p.written_bytes);
    made += p.written_bytes;
    if (made > max_bytes) return decompress_result::too_large;
    switch (p.state) {
      case frame::broken: return decompress_result::broken;
      case frame::no_memory: return decompress_result::no_memory;
      case frame::ended:
        if (from.empty()) return decompress_result::done;
        if (!begin_next_frame()) return decompress_result::broken;
        setup_cost_bytes_ += frame_cost_bytes;
        break;
      case frame::open:
        // The library needs more input, but the message has ended.
        if (p.read_bytes == 0 && p.written_bytes == 0) return decompress_result::broken;
        break;
    }
    used += p.read_bytes + p.written_bytes + setup_cost_bytes_ - set_up_before;
  }
  return decompress_result::more;
}

}  // namespace coracle::compress
