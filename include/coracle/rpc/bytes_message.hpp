// bytes_message: a message in its encoded form, for programs that forward messages or use their own encoding.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/rpc/impl/codec.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace coracle {

/// Takes the place of a protobuf class wherever a call takes one: generic_stub, generic_service, and the
/// typed calls of stub.hpp.
///
/// It holds what the message's codec wrote: decompressed, and without the envelope. An empty object is an
/// empty message. Calls copy the bytes once in each direction.
class bytes_message {
 public:
  /// An empty message.
  bytes_message() noexcept = default;
  /// Takes the encoded message.
  explicit bytes_message(std::string bytes) noexcept : bytes_(std::move(bytes)) {}
  /// Copies the encoded message.
  explicit bytes_message(bytes_view bytes) : bytes_(as_text(bytes)) {}

  /// Returns the bytes; valid until the message changes.
  [[nodiscard]] bytes_view view() const noexcept { return as_bytes(bytes_); }
  /// Returns the bytes; valid until the message changes.
  [[nodiscard]] const std::string& bytes() const& noexcept { return bytes_; }
  /// Moves the bytes out.
  [[nodiscard]] std::string bytes() && noexcept { return std::move(bytes_); }
  /// Replaces the message by a copy of `bytes`.
  void assign(bytes_view bytes) { bytes_.assign(as_text(bytes)); }

  friend bool operator==(const bytes_message&, const bytes_message&) = default;

 private:
  std::string bytes_;
};

/// @cond
namespace rpc {

extern const codec bytes_codec;

template <>
struct codec_of<bytes_message> {
  static const codec& get() noexcept { return bytes_codec; }
  static const void* address(const bytes_message& message) noexcept { return &message; }
  static void* address(bytes_message& message) noexcept { return &message; }
};

}  // namespace rpc
/// @endcond
}  // namespace coracle
