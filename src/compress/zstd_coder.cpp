#include "compress/coder.hpp"
#include "compress/stream_coder.hpp"

#include <zstd.h>
#include <zstd_errors.h>

namespace coracle::compress {

namespace {

// A frame may require its reader to allocate a window of gigabytes. RFC 8878 3.1.1.1.2 recommends that
// readers support 8 MiB.
constexpr int window_log_max = 23;

class zstd_coder final : public stream_coder {
 public:
  ~zstd_coder() override {
    ZSTD_freeCCtx(compressor_);
    ZSTD_freeDCtx(decompressor_);
  }

  bool compress(bytes_view from, int level, base::output_buffer& to) override {
    if (!compressor_ && !(compressor_ = ZSTD_createCCtx())) return false;
    // Levels above 19 would use a window that readers reject.
    const int used = level_within(level, 1, ZSTD_maxCLevel(), ZSTD_CLEVEL_DEFAULT);
    ZSTD_CCtx_setParameter(compressor_, ZSTD_c_compressionLevel, used);
    ZSTD_CCtx_setParameter(compressor_, ZSTD_c_windowLog, used > 19 ? window_log_max : 0);
    const std::size_t bound = ZSTD_compressBound(from.size());
    const std::size_t made = ZSTD_compress2(compressor_, to.reserve(bound), bound, from.data(), from.size());
    if (ZSTD_isError(made)) return false;
    to.commit(made);
    return true;
  }

  bool begin_decompress() override {
    setup_cost_bytes_ = 0;
    if (!decompressor_) {
      if (!(decompressor_ = ZSTD_createDCtx())) return false;
      ZSTD_DCtx_setParameter(decompressor_, ZSTD_d_windowLogMax, window_log_max);
    }
    ZSTD_DCtx_reset(decompressor_, ZSTD_reset_session_only);
    return true;
  }

 private:
  piece decompress_piece(bytes_view from, std::span<std::uint8_t> to) noexcept override {
    ZSTD_inBuffer in{from.data(), from.size(), 0};
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    const std::size_t left = ZSTD_decompressStream(decompressor_, &out, &in);
    if (ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation) return {0, 0, frame::no_memory};
    if (ZSTD_isError(left)) return {};
    return {in.pos, out.pos, left == 0 && in.pos + out.pos > 0 ? frame::ended : frame::open};
  }
  // A message may consist of several frames (RFC 8878 3.1); the library begins the next one by itself.
  bool begin_next_frame() noexcept override { return true; }

  ZSTD_CCtx* compressor_ = nullptr;
  ZSTD_DCtx* decompressor_ = nullptr;
};

}  // namespace

std::unique_ptr<coder> make_zstd() { return std::make_unique<zstd_coder>(); }

}  // namespace coracle::compress
