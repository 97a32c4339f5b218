// essential_fields: what a client reads of a response whose header fields exceed its limit.
#pragma once

#include <cstddef>
#include <string_view>

namespace coracle::protocol::grpc {

// Chooses, of the fields beyond the limit, those that tell what kind of response this is and how its call
// ended, in gRPC and in the protocols that are translated to it. Each of them is taken once, so that they
// need little memory. One object per header block.
class essential_fields {
 public:
  // Returns whether the field is to be read. Shortens the value of a long grpc-message.
  [[nodiscard]] bool take(std::string_view name, std::string_view& value) noexcept;

 private:
  unsigned taken_ = 0;  // a bit for each name
};

// The bytes that remain of a grpc-message, percent-encoded.
inline constexpr std::size_t shortened_message_bytes = 1024;
// Returns the beginning of a percent-encoded message. The cut is neither within an escape nor within a
// character of UTF-8.
[[nodiscard]] std::string_view shortened_message(std::string_view encoded,
                                                 std::size_t bytes_max = shortened_message_bytes) noexcept;

}  // namespace coracle::protocol::grpc
