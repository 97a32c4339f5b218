// coder: compresses and decompresses whole messages in one encoding.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/output_buffer.hpp"
#include "coracle/compress/compression.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace coracle::compress {

enum class unpacked : std::uint8_t {
  done,
  too_large,  // more than was allowed would come out: it stopped there
  broken,     // corrupt, cut short, or with something behind its end
};

// For one thread at a time. Keeps its library's contexts from message to message; each message stands for itself.
class coder {
 public:
  coder() noexcept = default;
  coder(const coder&) = delete;
  coder& operator=(const coder&) = delete;
  virtual ~coder() = default;

  // Appends to `to`. False when the encoding's library fails, which is for want of memory alone: what was appended
  // is worth nothing then.
  virtual bool pack(bytes_view from, int level, base::output_buffer& to) = 0;
  // Appends at most `most_bytes`. What was appended is worth nothing unless `done`.
  virtual unpacked unpack(bytes_view from, std::size_t most_bytes, base::output_buffer& to) = 0;
};

// Null where the library was built without it. identity has none.
std::unique_ptr<coder> make_coder(encoding e);

// The level to use of those between `lowest` and `highest`.
constexpr int level_within(int level, int lowest, int highest, int suggested) noexcept {
  if (level == compression::level_default) return suggested;
  return level < lowest ? lowest : level > highest ? highest : level;
}

// What is written at a time while nobody knows how much will come out.
inline constexpr std::size_t piece_bytes = 16u << 10;

}  // namespace coracle::compress
