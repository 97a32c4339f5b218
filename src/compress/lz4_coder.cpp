#include "compress/coder.hpp"
#include "compress/stream_coder.hpp"

#include <lz4frame.h>

#include <string_view>
#include <utility>

namespace coracle::compress {

namespace {

class lz4_coder final : public stream_coder {
 public:
  ~lz4_coder() override {
    LZ4F_freeCompressionContext(compressor_);
    LZ4F_freeDecompressionContext(decompressor_);
  }

  bool compress(bytes_view from, int level, base::output_buffer& to) override {
    if (!compressor_ && LZ4F_isError(LZ4F_createCompressionContext(&compressor_, LZ4F_VERSION))) return false;
    LZ4F_preferences_t result{};
    result.compressionLevel = level_within(level, 0, LZ4F_compressionLevel_max(), 0);
    result.frameInfo.contentSize = from.size();
    const std::size_t bound = LZ4F_HEADER_SIZE_MAX + LZ4F_compressBound(from.size(), &result);
    std::uint8_t* room = to.reserve(bound);
    std::size_t made = 0;
    const auto took = [&](std::size_t n) {
      if (LZ4F_isError(n)) return false;
      made += n;
      return true;
    };
    if (!took(LZ4F_compressBegin(compressor_, room, bound, &result)) ||
        !took(
            LZ4F_compressUpdate(compressor_, room + made, bound - made, from.data(), from.size(), nullptr)) ||
        !took(LZ4F_compressEnd(compressor_, room + made, bound - made, nullptr)))
      return false;
    to.commit(made);
    return true;
  }

  bool begin_decompress() override {
    setup_cost_bytes_ = 0;
    // A reset does not clear the content size that an unfinished frame has declared (lz4 1.9.4).
    if (unfinished_) LZ4F_freeDecompressionContext(std::exchange(decompressor_, nullptr));
    unfinished_ = true;
    return decompressor_ || !LZ4F_isError(LZ4F_createDecompressionContext(&decompressor_, LZ4F_VERSION));
  }

 private:
  piece decompress_piece(bytes_view from, std::span<std::uint8_t> to) noexcept override {
    std::size_t read = from.size();
    std::size_t made = to.size();
    const std::size_t hint = LZ4F_decompress(decompressor_, to.data(), &made, from.data(), &read, nullptr);
    if (LZ4F_isError(hint)) {
      const bool memory = std::string_view(LZ4F_getErrorName(hint)) == "ERROR_allocation_failed";
      return {0, 0, memory ? frame::no_memory : frame::broken};
    }
    unfinished_ = hint != 0;
    return {read, made, hint == 0 ? frame::ended : frame::open};
  }

  LZ4F_cctx* compressor_ = nullptr;
  LZ4F_dctx* decompressor_ = nullptr;
  bool unfinished_ = false;
};

}  // namespace

std::unique_ptr<coder> make_lz4() { return std::make_unique<lz4_coder>(); }

}  // namespace coracle::compress
