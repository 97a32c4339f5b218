// gzip and deflate: one library, two formats.
#include "compress/coder.hpp"
#include "compress/stream_coder.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace coracle::compress {

namespace {

// The values are zlib's: the window bits, with 16 added for the gzip format.
enum class wrapping { zlib = 15, gzip = 15 + 16 };

// Limits a size to what zlib's 32-bit counters can hold.
uInt share(std::size_t n) noexcept {
  return static_cast<uInt>(std::min<std::size_t>(n, std::numeric_limits<uInt>::max()));
}

// Uses 256 KiB for compression and 40 KiB for decompression, each allocated on first use.
class zlib_coder final : public stream_coder {
 public:
  explicit zlib_coder(wrapping w) noexcept : wrapping_(w) {}
  ~zlib_coder() override {
    if (compressing_) deflateEnd(&compressor_);
    if (decompressing_) inflateEnd(&decompressor_);
  }

  bool compress(bytes_view from, int level, base::output_buffer& to) override {
    if (!prepare_compressor(level_within(level, 1, 9, 6))) return false;
    compressor_.next_in = const_cast<Bytef*>(from.data());
    std::size_t left = from.size();
    while (true) {
      compressor_.avail_in = share(left);
      const uInt given = compressor_.avail_in;
      compressor_.next_out = to.reserve(piece_bytes);
      compressor_.avail_out = piece_bytes;
      const int result = deflate(&compressor_, given == left ? Z_FINISH : Z_NO_FLUSH);
      left -= given - compressor_.avail_in;
      to.commit(piece_bytes - compressor_.avail_out);
      if (result == Z_STREAM_END) return true;
      if (result != Z_OK && result != Z_BUF_ERROR) return false;
    }
  }

  bool begin_decompress() override {
    setup_cost_bytes_ = 0;
    if (decompressing_) return inflateReset(&decompressor_) == Z_OK;
    decompressing_ = inflateInit2(&decompressor_, static_cast<int>(wrapping_)) == Z_OK;
    return decompressing_;
  }

 private:
  piece decompress_piece(bytes_view from, std::span<std::uint8_t> to) noexcept override {
    decompressor_.next_in = const_cast<Bytef*>(from.data());
    decompressor_.avail_in = static_cast<uInt>(from.size());
    decompressor_.next_out = to.data();
    decompressor_.avail_out = static_cast<uInt>(to.size());
    const int result = inflate(&decompressor_, Z_NO_FLUSH);
    // Z_BUF_ERROR means that nothing could be read or written, which the caller detects.
    return {from.size() - decompressor_.avail_in, to.size() - decompressor_.avail_out,
            result == Z_STREAM_END                    ? frame::ended
            : result == Z_OK || result == Z_BUF_ERROR ? frame::open
            : result == Z_MEM_ERROR                   ? frame::no_memory
                                                      : frame::broken};
  }
  // A gzip message may consist of several members, one after another (RFC 1952 2.2).
  bool begin_next_frame() noexcept override {
    return wrapping_ == wrapping::gzip && inflateReset(&decompressor_) == Z_OK;
  }

  bool prepare_compressor(int level) noexcept {
    constexpr int memory_level = 8;  // zlib's default
    if (compressing_ && level == level_) return deflateReset(&compressor_) == Z_OK;
    if (compressing_) deflateEnd(&compressor_);
    compressor_ = {};
    compressing_ = deflateInit2(&compressor_, level, Z_DEFLATED, static_cast<int>(wrapping_), memory_level,
                                Z_DEFAULT_STRATEGY) == Z_OK;
    level_ = level;
    return compressing_;
  }

  wrapping wrapping_;
  int level_ = 0;
  bool compressing_ = false;
  bool decompressing_ = false;
  z_stream compressor_{};
  z_stream decompressor_{};
};

}  // namespace

std::unique_ptr<coder> make_deflate() { return std::make_unique<zlib_coder>(wrapping::zlib); }
std::unique_ptr<coder> make_gzip() { return std::make_unique<zlib_coder>(wrapping::gzip); }

}  // namespace coracle::compress
