#include "compress/bounded_output.hpp"
#include "compress/makers.hpp"

#include <brotli/decode.h>
#include <brotli/encode.h>

namespace coracle::compress {

namespace {

// brotli's contexts cannot be used again: each message makes its own.
class brotli_coder final : public coder {
 public:
  bool pack(bytes_view from, int level, base::output_buffer& to) override {
    const int quality = level_within(level, BROTLI_MIN_QUALITY, BROTLI_MAX_QUALITY, 4);
    std::size_t n = BrotliEncoderMaxCompressedSize(from.size());
    if (n == 0) return false;  // more than brotli can count
    std::uint8_t* room = to.reserve(n);
    if (!BrotliEncoderCompress(quality, BROTLI_DEFAULT_WINDOW, BROTLI_DEFAULT_MODE, from.size(), from.data(),
                               &n, room))
      return false;
    to.commit(n);
    return true;
  }

  unpacked unpack(bytes_view from, std::size_t most_bytes, base::output_buffer& to) override {
    const std::unique_ptr<BrotliDecoderState, decltype(&BrotliDecoderDestroyInstance)> state(
        BrotliDecoderCreateInstance(nullptr, nullptr, nullptr), &BrotliDecoderDestroyInstance);
    if (!state) return unpacked::broken;
    bounded_output out(to, most_bytes);
    const std::uint8_t* in = from.data();
    std::size_t left = from.size();
    while (true) {
      const std::size_t room = out.room();
      std::uint8_t* at = out.reserve();
      std::size_t unused = room;
      const BrotliDecoderResult how =
          BrotliDecoderDecompressStream(state.get(), &left, &in, &unused, &at, nullptr);
      out.commit(room - unused);
      if (out.over()) return unpacked::too_large;
      if (how == BROTLI_DECODER_RESULT_SUCCESS) return left == 0 ? unpacked::done : unpacked::broken;
      if (how != BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT) return unpacked::broken;
    }
  }
};

}  // namespace

maker brotli_maker() noexcept {
  return [] { return std::unique_ptr<coder>(new brotli_coder); };
}

}  // namespace coracle::compress
