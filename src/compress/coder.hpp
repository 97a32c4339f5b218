// coder: compresses and decompresses messages in one encoding. coders: the coders of one loop.
#pragma once

#include "base/output_buffer.hpp"
#include "coracle/base/bytes.hpp"
#include "coracle/compress/compression.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace coracle::compress {

enum class decompress_result : std::uint8_t {
  done,
  more,       // the step is used up; the next one continues
  too_large,  // the output would exceed the limit; decompression stopped there
  broken,     // corrupt, truncated, or followed by other data
  no_memory,  // the encoding's library failed to allocate memory
};

// For one thread at a time. Keeps the contexts of its library from message to message; each message is
// independent of the others.
class coder {
 public:
  coder() noexcept = default;
  coder(const coder&) = delete;
  coder& operator=(const coder&) = delete;
  virtual ~coder() = default;

  // Compresses a message and appends it to `to`. Returns false when the encoding's library fails, which
  // happens only when memory runs out; what was appended is then invalid.
  virtual bool compress(bytes_view from, int level, base::output_buffer& to) = 0;

  // Decompresses one message in steps: call begin_decompress(), then decompress_step() as long as it returns
  // `more`. A message may be left unfinished. begin_decompress() returns false when there is no memory for
  // the library's context.
  virtual bool begin_decompress() = 0;
  // `from` is the part of the message that has not been read yet; a step removes what it reads from the
  // front. A step appends at most `max_bytes`, and reads, appends and sets up no more than about `step_bytes`
  // in total. What was appended is invalid unless the message ends with `done`.
  virtual decompress_result decompress_step(bytes_view& from, std::size_t max_bytes, std::size_t step_bytes,
                                            base::output_buffer& to) = 0;

  // What the message has cost so far beyond what was read and appended: frames, tables and windows that the
  // library has set up, in bytes of content that take about as long. The usual start of a message is not
  // included, because it costs the same with every encoding. It grows from step to step, and counts for
  // `step_bytes`.
  [[nodiscard]] virtual std::size_t setup_cost_bytes() const noexcept { return 0; }

  // Decompresses a message in one step.
  decompress_result decompress(bytes_view from, std::size_t max_bytes, base::output_buffer& to) {
    if (!begin_decompress()) return decompress_result::no_memory;
    return decompress_step(from, max_bytes, std::numeric_limits<std::size_t>::max(), to);
  }
};

// Makes a coder. Returns null for identity, and for encodings that are not available().
std::unique_ptr<coder> make_coder(encoding e);

// Returns the level to use, between `lowest` and `highest`.
constexpr int level_within(int level, int lowest, int highest, int suggested) noexcept {
  if (level == compression::level_default) return suggested;
  return level < lowest ? lowest : level > highest ? highest : level;
}

// The size of the pieces in which data passes through the library of an encoding.
inline constexpr std::size_t piece_bytes = 16u << 10;

// The functions behind make_coder(), for the table of encodings.
std::unique_ptr<coder> make_deflate();
std::unique_ptr<coder> make_gzip();
// Each of these is in an object file of its own, and null in a program without it: the encoding's library was
// not installed when Coracle was built, or the program links the static library and its CORACLE_ENCODINGS
// does not have the encoding. src/CMakeLists.txt has the names of these functions.
[[gnu::weak]] std::unique_ptr<coder> make_zstd();
[[gnu::weak]] std::unique_ptr<coder> make_brotli();
[[gnu::weak]] std::unique_ptr<coder> make_snappy();
[[gnu::weak]] std::unique_ptr<coder> make_lz4();

// The coders of one loop, made on first use and reused. For one thread at a time. A coder that was used keeps
// its contexts: about 300 KiB each for deflate and gzip, about 1 MiB for zstd at its usual level and more at
// higher ones, about 200 KiB for lz4, none for brotli.
class coders {
 public:
  // Returns a coder for immediate use, valid until the next use of this object. Null for identity, and for
  // encodings that are not available().
  coder* of(encoding e) {
    auto& spare = spare_[static_cast<std::size_t>(e)];
    if (spare.empty()) {
      std::unique_ptr<coder> made = make_coder(e);
      if (!made) return nullptr;
      spare.push_back(std::move(made));
    }
    return spare.back().get();
  }

  // Takes a coder for a message that is decompressed in several steps. Not for identity.
  [[nodiscard]] std::unique_ptr<coder> take(encoding e) {
    auto& spare = spare_[static_cast<std::size_t>(e)];
    if (spare.empty()) return make_coder(e);
    std::unique_ptr<coder> taken = std::move(spare.back());
    spare.pop_back();
    return taken;
  }
  void give_back(encoding e, std::unique_ptr<coder> c) {
    auto& spare = spare_[static_cast<std::size_t>(e)];
    if (spare.size() < spare_max) spare.push_back(std::move(c));
  }

 private:
  static constexpr std::size_t spare_max = 2;
  std::array<std::vector<std::unique_ptr<coder>>, encoding_count> spare_;
};

}  // namespace coracle::compress
