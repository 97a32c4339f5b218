// compression: how outgoing messages are compressed.
#pragma once

#include "coracle/compress/encoding.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace coracle {

/// How outgoing messages are compressed: an encoding, a level and a minimum size. A value. An encoding
/// converts to it: coracle::encoding::gzip, or compression(encoding::zstd).level(9).
class compression {
 public:
  /// The default of min_bytes(). Below about the size of a packet, compression saves nothing.
  static constexpr std::uint32_t min_bytes_default = 1024;
  /// Selects the default level of the encoding; see level().
  static constexpr int level_default = std::numeric_limits<int>::min();

  /// Selects the encoding. With an encoding that the library was built without (see available()), messages
  /// are sent uncompressed.
  compression(encoding e = encoding::identity) noexcept : encoding_(e) {}
  /// Sets the level, in the numbers of the encoding's own library: deflate and gzip 1 to 9, zstd 1 to 22,
  /// brotli 0 to 11, lz4 0 to 12; snappy has no levels. A level outside the range is replaced by the nearest
  /// one. Default: the default of that library, but 4 for brotli, whose own default of 11 is meant for files.
  compression& level(int n) noexcept { return level_ = n, *this; }
  /// Sets the minimum size of messages to compress, in bytes before compression; 0 compresses every message.
  /// Default: min_bytes_default.
  compression& min_bytes(std::uint32_t n) noexcept { return min_bytes_ = n, *this; }

  /// Returns the encoding.
  [[nodiscard]] coracle::encoding algorithm() const noexcept { return encoding_; }
  /// Returns the level that was set, or level_default.
  [[nodiscard]] int level() const noexcept { return level_; }
  /// Returns the minimum size of messages to compress, in bytes.
  [[nodiscard]] std::uint32_t min_bytes() const noexcept { return min_bytes_; }

  friend bool operator==(const compression&, const compression&) = default;

 private:
  int level_ = level_default;
  std::uint32_t min_bytes_ = min_bytes_default;
  encoding encoding_;
};
static_assert(!std::is_aggregate_v<compression>, "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
