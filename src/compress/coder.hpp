// coder: compresses and decompresses messages in one encoding.
#pragma once

#include "base/output_buffer.hpp"
#include "coracle/base/bytes.hpp"
#include "coracle/compress/compression.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

namespace coracle::compress {

enum class unpacked : std::uint8_t {
  done,
  more,       // the step is used up: the next one continues
  too_large,  // more than was allowed would come out: it stopped there
  broken,     // corrupt, cut short, or with something behind its end
  no_memory,  // the encoding's library could not allocate what it needs
};

// For one thread at a time. Keeps its library's contexts from message to message; each message stands for itself.
class coder {
 public:
  coder() noexcept = default;
  coder(const coder&) = delete;
  coder& operator=(const coder&) = delete;
  virtual ~coder() = default;

  // Appends to `to`. False when the encoding's library fails, which happens for lack of memory only: what was
  // appended is worthless then.
  virtual bool pack(bytes_view from, int level, base::output_buffer& to) = 0;

  // Decompresses one message in steps: begin_unpack(), then unpack_step() for as long as it returns `more`. A message
  // may be left unfinished. False when there is no memory for the library's context.
  virtual bool begin_unpack() = 0;
  // `from` is the part of the message that has not been read yet; what the step reads is removed from its front.
  // Appends at most `most_bytes`, and reads and appends no more than about `step_bytes` together. What was appended
  // is worthless unless the message ends with `done`.
  virtual unpacked unpack_step(bytes_view& from, std::size_t most_bytes, std::size_t step_bytes,
                               base::output_buffer& to) = 0;

  // A message in one step.
  unpacked unpack(bytes_view from, std::size_t most_bytes, base::output_buffer& to) {
    if (!begin_unpack()) return unpacked::no_memory;
    return unpack_step(from, most_bytes, std::numeric_limits<std::size_t>::max(), to);
  }
};

// Null where the library was built without it. identity has none.
std::unique_ptr<coder> make_coder(encoding e);

// The level to use of those between `lowest` and `highest`.
constexpr int level_within(int level, int lowest, int highest, int suggested) noexcept {
  if (level == compression::level_default) return suggested;
  return level < lowest ? lowest : level > highest ? highest : level;
}

// The size of the pieces in which data passes through an encoding's library.
inline constexpr std::size_t piece_bytes = 16u << 10;

}  // namespace coracle::compress
