// stream: the state of one stream of a connection, with what it has yet to send.
#pragma once

#include "base/slab.hpp"
#include "coracle/base/bytes.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/base/impl/intrusive_list.hpp"
#include "http2/error_code.hpp"
#include "http2/event.hpp"
#include "http2/flow_window.hpp"
#include "http2/stream_state.hpp"

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

// What a stream has yet to send: queued bytes, header blocks that follow them, and the end. A FIFO of chunks
// in a pool. Clear a queue before you destroy it: it has no reference to its pool.
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
  // The bytes of data before the next block or the end, at most `max_bytes`.
  [[nodiscard]] std::size_t data_ready(const chunk_pool& pool, std::size_t max_bytes) const noexcept;
  // Moves n <= data_ready() bytes out. Returns true if they were the last of a stream that ends with data.
  [[nodiscard]] bool take_data(chunk_pool& pool, std::uint8_t* to, std::size_t n) noexcept;

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::uint32_t head_ = none;
  std::uint32_t tail_ = none;
  std::size_t bytes_ = 0;
  bool ends_ = false;
};

// Links streams that have something to send and the windows for it.
struct send_hook : base::list_hook {};
// Links streams that have a pending event.
struct writable_hook : base::list_hook {};

// Allocated in the connection's slab from the HEADERS that opened it (or from open()) until it is both closed
// and released by the user. It is in the index while it is neither idle nor closed.
struct stream : send_hook, writable_hook {
  stream(void* of_user, std::uint32_t send_bytes, std::uint32_t receive_bytes) noexcept
      : user(of_user), send(send_bytes), receive(receive_bytes) {}

  stream_id id = 0;  // 0: opened by the user, who has sent no HEADERS yet
  stream_state state = stream_state::idle;
  bool released = false;  // the user wants no more events
  bool awaits_reset = false;  // client: released, and to be reset when the limits on resets permit it
  bool headers_received = false;  // client: the final response's HEADERS were received
  bool headers_sent = false;
  bool is_head_request = false;  // RFC 9110 9.3.2: content-length of the response describes no content
  bool wants_writable = false;
  std::uint16_t interim_responses = 0;  // client: number received so far
  time_point opened_at{};  // client: when its HEADERS were written

  void* user;
  send_window send;
  receive_window receive;
  std::uint32_t held_bytes = 0;  // passed to the user and not yet consumed
  bool length_known = false;
  std::uint64_t length_left = 0;  // remaining bytes of content-length, if known
  send_queue queue;
  std::uint32_t header_block_bytes = 0;  // size of the request's fields, which the user is likely to keep
  std::size_t kept_bytes = 0;  // bytes of received data that the user reports to keep
  std::size_t low_bytes = 0;  // the threshold of want_writable()

  // How the stream ended, until its reset event is returned.
  error_code end_code = error_code::no_error;
  initiator end_by = initiator::peer;
  bool end_unprocessed = false;
  bool end_with_connection = false;
  std::string_view end_reason{};

  [[nodiscard]] bool can_send() const noexcept { return may_send(state) && !queue.ends(); }
};

}  // namespace coracle::http2
