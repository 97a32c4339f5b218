#include "compress/stream_coder.hpp"

#include <algorithm>

namespace coracle::compress {

unpacked stream_coder::unpack_step(bytes_view& from, std::size_t most_bytes, std::size_t step_bytes,
                                   base::output_buffer& to) {
  std::size_t made = 0;
  std::size_t used = 0;
  while (used < step_bytes) {
    // Room for one byte more than allowed distinguishes a message of exactly that size from a larger one.
    const std::size_t room = std::min(piece_bytes, most_bytes - made + 1);
    const piece p = unpack_piece(from.first(std::min(from.size(), piece_bytes)), {to.reserve(room), room});
    from = from.subspan(p.read_bytes);
    to.commit(p.made_bytes);
    made += p.made_bytes;
    used += p.read_bytes + p.made_bytes;
    if (made > most_bytes) return unpacked::too_large;
    switch (p.state) {
      case frame::broken: return unpacked::broken;
      case frame::no_memory: return unpacked::no_memory;
      case frame::ended:
        if (from.empty()) return unpacked::done;
        if (!begin_next_frame()) return unpacked::broken;
        break;
      case frame::open:
        // The library needs more input, but the message has ended.
        if (p.read_bytes == 0 && p.made_bytes == 0) return unpacked::broken;
        break;
    }
  }
  return unpacked::more;
}

}  // namespace coracle::compress
