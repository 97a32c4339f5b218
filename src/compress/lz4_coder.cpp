#include "compress/bounded_output.hpp"
#include "compress/makers.hpp"

#include <lz4frame.h>

namespace coracle::compress {

namespace {

class lz4_coder final : public coder {
 public:
  ~lz4_coder() override {
    LZ4F_freeCompressionContext(packer_);
    LZ4F_freeDecompressionContext(unpacker_);
  }

  bool pack(bytes_view from, int level, base::output_buffer& to) override {
    if (!packer_ && LZ4F_isError(LZ4F_createCompressionContext(&packer_, LZ4F_VERSION))) return false;
    LZ4F_preferences_t how{};
    how.compressionLevel = level_within(level, 0, LZ4F_compressionLevel_max(), 0);
    how.frameInfo.contentSize = from.size();
    const std::size_t bound = LZ4F_HEADER_SIZE_MAX + LZ4F_compressBound(from.size(), &how);
    std::uint8_t* room = to.reserve(bound);
    std::size_t made = 0;
    const auto took = [&](std::size_t n) {
      if (LZ4F_isError(n)) return false;
      made += n;
      return true;
    };
    if (!took(LZ4F_compressBegin(packer_, room, bound, &how)) ||
        !took(LZ4F_compressUpdate(packer_, room + made, bound - made, from.data(), from.size(), nullptr)) ||
        !took(LZ4F_compressEnd(packer_, room + made, bound - made, nullptr)))
      return false;
    to.commit(made);
    return true;
  }

  unpacked unpack(bytes_view from, std::size_t most_bytes, base::output_buffer& to) override {
    const unpacked how = unpack_frame(from, most_bytes, to);
    if (how != unpacked::done) {
      // A reset does not forget the size that an unfinished frame has promised (lz4 1.9.4).
      LZ4F_freeDecompressionContext(unpacker_);
      unpacker_ = nullptr;
    }
    return how;
  }

 private:
  unpacked unpack_frame(bytes_view from, std::size_t most_bytes, base::output_buffer& to) {
    if (!unpacker_ && LZ4F_isError(LZ4F_createDecompressionContext(&unpacker_, LZ4F_VERSION)))
      return unpacked::broken;
    bounded_output out(to, most_bytes);
    while (true) {
      std::size_t taken = from.size();
      std::size_t made = out.room();
      const std::size_t hint = LZ4F_decompress(unpacker_, out.reserve(), &made, from.data(), &taken, nullptr);
      if (LZ4F_isError(hint)) return unpacked::broken;
      out.commit(made);
      if (out.over()) return unpacked::too_large;
      from = from.subspan(taken);
      if (hint == 0) return from.empty() ? unpacked::done : unpacked::broken;  // the frame's end
      if (taken == 0 && made == 0) return unpacked::broken;  // it wants what is not there
    }
  }

  LZ4F_cctx* packer_ = nullptr;
  LZ4F_dctx* unpacker_ = nullptr;
};

}  // namespace

maker lz4_maker() noexcept {
  return [] { return std::unique_ptr<coder>(new lz4_coder); };
}

}  // namespace coracle::compress
