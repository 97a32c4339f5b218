// deframer: splits the bytes of a body into length-prefixed messages.
#pragma once

#include "base/output_buffer.hpp"
#include "coracle/base/bytes.hpp"
#include "protocol/envelope.hpp"

#include <cstddef>
#include <cstdint>

namespace coracle::protocol::grpc {

// One message as received. The bytes are borrowed.
struct framed_message {
  bytes_view body;
  bool compressed = false;
};

// Buffers only what was received and not taken: at most the stream's window and one message of the maximum
// size. Nothing is copied while messages are taken as they arrive.
class deframer {
 public:
  enum class state : std::uint8_t {
    need_more,
    message,     // front() returned a complete message
    too_large,   // the length exceeds the limit; nothing more can be read
    bad_flag,    // the flag byte is neither 0 nor 1
  };

  // Reads a complete message at the front of `bytes`, which have just arrived, ignoring the buffered bytes.
  static state peek(bytes_view bytes, std::uint32_t max_bytes, framed_message& message) noexcept;

  void append(bytes_view bytes) { kept_.append(bytes); }
  [[nodiscard]] state front(std::uint32_t max_bytes, framed_message& message) const noexcept {
    return peek(kept_.pending(), max_bytes, message);
  }
  // All buffered bytes.
  [[nodiscard]] bytes_view kept() const noexcept { return kept_.pending(); }
  // Removes the message that front() returned.
  void pop(const framed_message& message) noexcept;
  [[nodiscard]] bool empty() const noexcept { return kept_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return kept_.size(); }
  // Heap memory held.
  [[nodiscard]] std::size_t capacity_bytes() const noexcept { return kept_.capacity(); }
  void clear() noexcept {
    kept_.clear();
    kept_.release(0);
  }

 private:
  base::output_buffer kept_;
};

inline deframer::state deframer::peek(bytes_view bytes, std::uint32_t max_bytes,
                                      framed_message& message) noexcept {
  if (bytes.empty()) return state::need_more;
  if (bytes[0] > 1) return state::bad_flag;
  if (bytes.size() < envelope_prefix_bytes) return state::need_more;
  const auto prefix = protocol::read_envelope_prefix(bytes.data());
  if (prefix.length_bytes > max_bytes) return state::too_large;
  if (bytes.size() - envelope_prefix_bytes < prefix.length_bytes) return state::need_more;
  message.body = bytes.subspan(envelope_prefix_bytes, prefix.length_bytes);
  message.compressed = prefix.flags != 0;
  return state::message;
}

}  // namespace coracle::protocol::grpc
