// What a connection holds, and what it gives back.
#include "http2/connection_state.hpp"

#include <utility>

namespace coracle::http2 {

void connection::state::set_kept(stream_ref ref, std::size_t bytes) noexcept {
  stream* const s = find(ref);
  if (s) kept_bytes += bytes - std::exchange(s->kept_bytes, bytes);
}

std::size_t connection::state::memory_bytes() const noexcept {
  return sizeof *this + output.capacity() + assembly.capacity() + block.capacity() + queued_bytes +
         kept_bytes + streams.bound() * sizeof(stream) + chunks.bound() * sizeof(send_chunk) +
         encoder.capacity_bytes() + reader.capacity_bytes();
}

// Windows, the HPACK tables and the settings stay; so does what is left of a frame that came in part, and what an event will
// show.
void connection::state::release_idle_memory() noexcept {
  output.release(0);
  if (reading == phase::payload || block_id != 0 || block_open || goaway_pending) return;
  std::vector<std::uint8_t>().swap(assembly);
  std::vector<std::uint8_t>().swap(block);
  reader.release_idle_memory();
  if (streams.size() != 0) return;
  streams.release();
  chunks.release();
  index.release();
  closed.release();
}

}  // namespace coracle::http2
