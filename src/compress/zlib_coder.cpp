// gzip and deflate: one library, two wrappings.
#include "compress/bounded_output.hpp"
#include "compress/makers.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace coracle::compress {

namespace {

// zlib's own code: window bits, with 16 added for gzip's wrapping.
enum class wrapping { zlib = 15, gzip = 15 + 16 };

// zlib counts in 32 bits.
uInt share(std::size_t n) noexcept {
  return static_cast<uInt>(std::min<std::size_t>(n, std::numeric_limits<uInt>::max()));
}

// 256 KiB for packing and 40 KiB for unpacking, each from when it is first used.
class zlib_coder final : public coder {
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

  unpacked unpack(bytes_view from, std::size_t most_bytes, base::output_buffer& to) override {
    if (!prepare_unpacker()) return unpacked::broken;
    bounded_output out(to, most_bytes);
    unpacker_.next_in = const_cast<Bytef*>(from.data());
    std::size_t left = from.size();
    while (true) {
      const uInt given = unpacker_.avail_in = share(left);
      const std::size_t room = out.room();
      unpacker_.next_out = out.reserve();
      unpacker_.avail_out = static_cast<uInt>(room);
      const int how = inflate(&unpacker_, Z_NO_FLUSH);
      left -= given - unpacker_.avail_in;
      const std::size_t made = room - unpacker_.avail_out;
      out.commit(made);
      if (out.over()) return unpacked::too_large;
      if (how == Z_STREAM_END) {
        if (left == 0) return unpacked::done;
        // gzip may have several members, one behind another (RFC 1952 2.2).
        if (wrapping_ != wrapping::gzip || inflateReset(&unpacker_) != Z_OK) return unpacked::broken;
      } else if (how != Z_OK || (left == 0 && made == 0)) {
        return unpacked::broken;  // Z_BUF_ERROR among them: no more input, and no end
      }
    }
  }

 private:
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
  bool prepare_unpacker() noexcept {
    if (unpacking_) return inflateReset(&unpacker_) == Z_OK;
    unpacking_ = inflateInit2(&unpacker_, static_cast<int>(wrapping_)) == Z_OK;
    return unpacking_;
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
