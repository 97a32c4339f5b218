// What a connection holds, and what it gives back.
#include "http2/connection.hpp"

#include <utility>

namespace coracle::http2 {

void connection::set_kept(stream_ref ref, std::size_t bytes) noexcept {
  stream* const s = find(ref);
  if (s) kept_bytes_ += bytes - std::exchange(s->kept_bytes, bytes);
}

std::size_t connection::memory_bytes() const noexcept {
  return sizeof *this + output_.capacity() + assembly_.capacity() + block_.capacity() + queued_bytes_ +
         kept_bytes_ + streams_.bound() * sizeof(stream) + chunks_.bound() * sizeof(send_chunk) +
         encoder_.capacity_bytes() + reader_.capacity_bytes();
}

// Windows, the HPACK tables and the settings stay; so does what is left of a frame that came in part, and what an event will
// show.
void connection::release_idle_memory() noexcept {
  output_.release(0);
  if (reading_ == phase::payload || block_id_ != 0 || block_open_ || goaway_pending_) return;
  std::vector<std::uint8_t>().swap(assembly_);
  std::vector<std::uint8_t>().swap(block_);
  reader_.release_idle_memory();
  if (streams_.size() != 0) return;
  streams_.release();
  chunks_.release();
  index_.release();
  closed_.release();
}

}  // namespace coracle::http2
