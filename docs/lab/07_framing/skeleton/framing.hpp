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
// Step 1.
inline std::string big_endian(std::uint32_t) { return std::string(4, '\0'); }
// The inverse; `bytes` has at least four.
// Step 2: a char may be negative.
inline std::uint32_t from_big_endian(std::string_view) { return 0; }

// Step 3.
inline std::string frame(std::string_view message) { return std::string(message); }

// Takes bytes as they arrive, in pieces of any size, and returns whole messages. It does no I/O.
class frame_reader {
 public:
  explicit frame_reader(std::size_t message_bytes_max) noexcept : message_bytes_max_(message_bytes_max) {}

  // Step 4.
  void feed(std::string_view) {}

  // Returns the next message, or nothing if more bytes are needed. Throws framing_error if the flag is not 0, and, as soon
  // as the prefix has arrived, if the message is larger than the limit.
  // Step 5: why does the limit belong here, and not after the message?
  std::optional<std::string> next() { return std::nullopt; }

  // Returns whether a part of a message has arrived: a stream must not end here.
  [[nodiscard]] bool is_inside_a_message() const noexcept { return !buffer_.empty(); }

 private:
  [[maybe_unused]] std::size_t message_bytes_max_;
  std::string buffer_;
};

}  // namespace lab
