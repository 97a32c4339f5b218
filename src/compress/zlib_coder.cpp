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
    if (packing_) deflateEnd(&packer_);
    if (unpacking_) inflateEnd(&unpacker_);
  }

  bool pack(bytes_view from, int level, base::output_buffer& to) override {
    if (!prepare_packer(level_within(level, 1, 9, 6))) return false;
    packer_.next_in = const_cast<Bytef*>(from.data());
    std::size_t left = from.size();
    while (true) {
      packer_.avail_in = share(left);
      const uInt given = packer_.avail_in;
      packer_.next_out = to.reserve(piece_bytes);
      packer_.avail_out = piece_bytes;
      const int how = deflate(&packer_, given == left ? Z_FINISH : Z_NO_FLUSH);
      left -= given - packer_.avail_in;
      to.commit(piece_bytes - packer_.avail_out);
      if (how == Z_STREAM_END) return true;
      if (how != Z_OK && how != Z_BUF_ERROR) return false;
    }
  }

  bool begin_unpack() override {
    if (unpacking_) return inflateReset(&unpacker_) == Z_OK;
    unpacking_ = inflateInit2(&unpacker_, static_cast<int>(wrapping_)) == Z_OK;
    return unpacking_;
  }

 private:
  piece unpack_piece(bytes_view from, std::span<std::uint8_t> to) noexcept override {
    unpacker_.next_in = const_cast<Bytef*>(from.data());
    unpacker_.avail_in = static_cast<uInt>(from.size());
    unpacker_.next_out = to.data();
    unpacker_.avail_out = static_cast<uInt>(to.size());
    const int how = inflate(&unpacker_, Z_NO_FLUSH);
    // Z_BUF_ERROR means that nothing could be read or written, which the caller detects.
    return {from.size() - unpacker_.avail_in, to.size() - unpacker_.avail_out,
            how == Z_STREAM_END                 ? frame::ended
            : how == Z_OK || how == Z_BUF_ERROR ? frame::open
            : how == Z_MEM_ERROR                ? frame::no_memory
                                                : frame::broken};
  }
  // A gzip message may consist of several members, one after another (RFC 1952 2.2).
  bool begin_next_frame() noexcept override {
    return wrapping_ == wrapping::gzip && inflateReset(&unpacker_) == Z_OK;
  }

  bool prepare_packer(int level) noexcept {
    constexpr int memory_level = 8;  // zlib's default
    if (packing_ && level == level_) return deflateReset(&packer_) == Z_OK;
    if (packing_) deflateEnd(&packer_);
    packer_ = {};
    packing_ = deflateInit2(&packer_, level, Z_DEFLATED, static_cast<int>(wrapping_), memory_level,
                            Z_DEFAULT_STRATEGY) == Z_OK;
    level_ = level;
    return packing_;
  }

  wrapping wrapping_;
  int level_ = 0;
  bool packing_ = false;
  bool unpacking_ = false;
  z_stream packer_{};
  z_stream unpacker_{};
};

}  // namespace

std::unique_ptr<coder> make_deflate() { return std::make_unique<zlib_coder>(wrapping::zlib); }
std::unique_ptr<coder> make_gzip() { return std::make_unique<zlib_coder>(wrapping::gzip); }

}  // namespace coracle::compress
