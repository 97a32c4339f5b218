// compression: how messages that are sent are compressed.
#pragma once

#include "coracle/compress/encoding.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace coracle {

// A value; an encoding alone will do:  coracle::encoding::gzip,  compression(encoding::zstd).level(9)
class compression {
 public:
  // Smaller messages are sent as they are: below about a packet's size compressing them saves nothing.
  static constexpr std::uint32_t min_bytes_default = 1024;
  static constexpr int level_default = std::numeric_limits<int>::min();

  // One that the library was built without (see available()) sends messages as they are.
  compression(encoding e = encoding::identity) noexcept : encoding_(e) {}
  // As the encoding's own library counts them: deflate and gzip 1 to 9, zstd 1 to 22, brotli 0 to 11, lz4 0 to 12;
  // what lies outside is taken for the nearest. Default: what that library suggests; 4 for brotli, whose own
  // default of 11 is meant for files. snappy has no levels.
  compression& level(int n) noexcept { return level_ = n, *this; }
  // In bytes of the message before it is compressed; 0: compress every message.
  compression& min_bytes(std::uint32_t n) noexcept { return min_bytes_ = n, *this; }

  [[nodiscard]] coracle::encoding what() const noexcept { return encoding_; }
  [[nodiscard]] int level() const noexcept { return level_; }
  [[nodiscard]] std::uint32_t min_bytes() const noexcept { return min_bytes_; }

  friend bool operator==(const compression&, const compression&) = default;

 private:
  int level_ = level_default;
  std::uint32_t min_bytes_ = min_bytes_default;
  encoding encoding_;
};
static_assert(!std::is_aggregate_v<compression>, "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
