// send_queue: what a stream has yet to send: queued bytes, header blocks that follow them, and the end.
#pragma once

#include "base/slab.hpp"
#include "coracle/base/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace coracle::http2 {

struct send_chunk {
  std::unique_ptr<std::uint8_t[]> bytes;
  std::size_t size = 0;
  std::size_t taken = 0;  // from the front, already sent
  std::uint32_t next = 0;
  bool is_block = false;
  bool end_stream = false;
};

// The chunks of all streams of a connection; freed places are reused.
using chunk_pool = base::slab<send_chunk, 8>;

// A FIFO of chunks in a pool. Clear a queue before you destroy it: it has no reference to its pool.
class send_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return head_ == none; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool ends() const noexcept { return ends_; }  // the last chunk carries END_STREAM

  // place: a new place of the pool, for this chunk.
  void push(chunk_pool& pool, std::uint32_t place, std::unique_ptr<std::uint8_t[]> bytes, std::size_t n,
            bool is_block, bool end_stream) noexcept;
  [[nodiscard]] const send_chunk& front(const chunk_pool& pool) const noexcept { return pool[head_]; }
  void pop(chunk_pool& pool) noexcept;
  void clear(chunk_pool& pool) noexcept;

  // Whether the front needs no window: a header block, or an empty DATA frame that ends the stream.
  [[nodiscard]] bool front_is_free(const chunk_pool& pool) const noexcept {
    const send_chunk& c = pool[head_];
    return c.is_block || c.size == 0;
  }
  // The bytes of data before the next block or the end, at most `most`.
  [[nodiscard]] std::size_t data_ready(const chunk_pool& pool, std::size_t most) const noexcept;
  // Moves n <= data_ready() bytes out. Returns true if they were the last of a stream that ends with data.
  [[nodiscard]] bool take_data(chunk_pool& pool, std::uint8_t* to, std::size_t n) noexcept;

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::uint32_t head_ = none;
  std::uint32_t tail_ = none;
  std::size_t bytes_ = 0;
  bool ends_ = false;
};

}  // namespace coracle::http2
