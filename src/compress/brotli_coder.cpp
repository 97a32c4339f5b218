#include "compress/makers.hpp"
#include "compress/stream_coder.hpp"

#include <brotli/decode.h>
#include <brotli/encode.h>

#include <algorithm>
#include <utility>

namespace coracle::compress {

namespace {

// The library has no way to reset a context: each message makes its own.
class brotli_coder final : public stream_coder {
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

  // The library fills its window before it gives anything out, whatever room it is offered: a window that is larger
  // than any message that is allowed would only cost time and memory.
  unpacked unpack_step(bytes_view& from, std::size_t most_bytes, std::size_t step_bytes,
                       base::output_buffer& to) override {
    if (!std::exchange(begun_, true) && !from.empty() &&
        window_bytes(from[0]) > std::max(most_bytes, window_max_bytes))
      return unpacked::too_large;
    return stream_coder::unpack_step(from, most_bytes, step_bytes, to);
  }

  bool begin_unpack() override {
    begun_ = false;
    state_.reset(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr));
    return state_ != nullptr;
  }

 private:
  // What encoders use unless they are told otherwise.
  static constexpr std::size_t window_max_bytes = std::size_t{4} << 20;
  // From a message's first byte (RFC 7932 9.1); only the large ones matter.
  static constexpr std::size_t window_bytes(std::uint8_t first) noexcept {
    const unsigned bits = (first & 1u) == 0 ? 16 : 17 + ((first >> 1) & 7u);
    return std::size_t{1} << bits;
  }

  piece unpack_piece(bytes_view from, std::span<std::uint8_t> to) noexcept override {
    const std::uint8_t* in = from.data();
    std::uint8_t* out = to.data();
    std::size_t unread = from.size();
    std::size_t unused = to.size();
    const BrotliDecoderResult how =
        BrotliDecoderDecompressStream(state_.get(), &unread, &in, &unused, &out, nullptr);
    piece p{from.size() - unread, to.size() - unused, frame::open};
    if (how == BROTLI_DECODER_RESULT_SUCCESS) p.state = frame::ended;
    if (how == BROTLI_DECODER_RESULT_ERROR) p.state = frame::broken;
    if (p.state != frame::open) state_.reset();  // up to 16 MiB of window
    return p;
  }

  struct destroy {
    void operator()(BrotliDecoderState* s) const noexcept { BrotliDecoderDestroyInstance(s); }
  };
  std::unique_ptr<BrotliDecoderState, destroy> state_;
  bool begun_ = false;
};

}  // namespace

maker brotli_maker() noexcept {
  return [] { return std::unique_ptr<coder>(new brotli_coder); };
}

}  // namespace coracle::compress
