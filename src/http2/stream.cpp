#include "http2/stream.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace coracle::http2 {

void send_queue::push(chunk_pool& pool, std::uint32_t i, std::unique_ptr<std::uint8_t[]> bytes, std::size_t n,
                      bool is_block, bool end_stream) noexcept {
  send_chunk& c = pool[i];
  c.bytes = std::move(bytes);
  c.size = n;
  c.next = none;
  c.is_block = is_block;
  c.end_stream = end_stream;
  if (tail_ == none) head_ = i;
  else pool[tail_].next = i;
  tail_ = i;
  bytes_ += n;
  ends_ = end_stream;
}

void send_queue::pop(chunk_pool& pool) noexcept {
  send_chunk& c = pool[head_];
  const std::uint32_t next = c.next;
  bytes_ -= c.size - c.taken;
  pool.erase(c);
  head_ = next;
  if (head_ == none) tail_ = none;
}

void send_queue::clear(chunk_pool& pool) noexcept {
  while (!empty()) pop(pool);
  ends_ = false;
}

std::size_t send_queue::data_ready(const chunk_pool& pool, std::size_t max_bytes) const noexcept {
  std::size_t n = 0;
  for (std::uint32_t i = head_; i != none && n < max_bytes && !pool[i].is_block; i = pool[i].next)
    n += pool[i].size - pool[i].taken;
  return std::min(n, max_bytes);
}

bool send_queue::take_data(chunk_pool& pool, std::uint8_t* to, std::size_t n) noexcept {
  for (;;) {
    if (empty()) return ends_;
    send_chunk& c = pool[head_];
    if (c.is_block) return false;
    const std::size_t piece = std::min(n, c.size - c.taken);
    if (piece) std::memcpy(to, c.bytes.get() + c.taken, piece);
    c.taken += piece;
    bytes_ -= piece;
    to += piece;
    n -= piece;
    // Empty chunks are removed at once, so that an empty one that only ends the stream is sent with the data.
    if (c.taken < c.size) return false;
    pop(pool);
  }
}

}  // namespace coracle::http2
