// Messages in a stream of bytes, framed as gRPC does: a flag of one byte, which is 0 (not compressed), the length as four
// bytes in network byte order, and the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lab {

inline constexpr std::size_t prefix_bytes = 5;

class framing_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Returns the number as four bytes, the most significant one first.
inline std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}
// The inverse; `bytes` has at least four.
inline std::uint32_t from_big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

inline std::string frame(std::string_view message) {
  std::string framed(1, '\0');
  framed += big_endian(static_cast<std::uint32_t>(message.size()));
  framed += message;
  return framed;
}

// Takes bytes as they arrive, in pieces of any size, and returns whole messages. It does no I/O.
class frame_reader {
 public:
  explicit frame_reader(std::size_t message_bytes_max) noexcept : message_bytes_max_(message_bytes_max) {}

  void feed(std::string_view bytes) { buffer_ += bytes; }

  // Returns the next message, or nothing if more bytes are needed. Throws framing_error if the flag is not 0, and, as soon
  // as the prefix has arrived, if the message is larger than the limit.
  std::optional<std::string> next() {
    if (buffer_.size() < prefix_bytes) return std::nullopt;
    if (buffer_[0] != 0) throw framing_error("the flag is not 0: compressed messages are not supported");
    const std::size_t size = from_big_endian(std::string_view(buffer_).substr(1));
    if (size > message_bytes_max_)
      throw framing_error("a message of " + std::to_string(size) + " bytes, limit " +
                          std::to_string(message_bytes_max_));
    if (buffer_.size() < prefix_bytes + size) return std::nullopt;
    std::optional<std::string> message(buffer_.substr(prefix_bytes, size));
    buffer_.erase(0, prefix_bytes + size);
    return message;
  }

  // Returns whether a part of a message has arrived: a stream must not end here.
  [[nodiscard]] bool is_inside_a_message() const noexcept { return !buffer_.empty(); }

 private:
  std::size_t message_bytes_max_;
  std::string buffer_;
};

}  // namespace lab
