#include "compress/coder.hpp"
#include "compress/stream_coder.hpp"

#include <brotli/decode.h>
#include <brotli/encode.h>

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdlib>
#include <utility>

namespace coracle::compress {

namespace {

// The memory for compressing one message. When an allocation of its encoder fails, the brotli library ends
// the process (exit() in BrotliAllocate() of Debian's build). This allocator jumps back to where compression
// began instead, across frames of the library only, which is written in C; the destructor frees what was
// allocated until then.
class encoder_memory {
 public:
  encoder_memory() noexcept = default;
  encoder_memory(const encoder_memory&) = delete;
  encoder_memory& operator=(const encoder_memory&) = delete;
  ~encoder_memory() {
    while (block* const b = first_) {
      first_ = b->next;
      std::free(b);
    }
  }
  static void* allocate(void* self, std::size_t n) noexcept {
    auto& memory = *static_cast<encoder_memory*>(self);
    auto* const b = static_cast<block*>(std::malloc(sizeof(block) + n));
    if (!b) std::longjmp(memory.failed, 1);
    b->previous = nullptr;
    b->next = memory.first_;
    if (b->next) b->next->previous = b;
    memory.first_ = b;
    return b + 1;
  }
  static void deallocate(void* self, void* p) noexcept {
    if (!p) return;
    auto& memory = *static_cast<encoder_memory*>(self);
    block* const b = static_cast<block*>(p) - 1;
    if (b->next) b->next->previous = b->previous;
    (b->previous ? b->previous->next : memory.first_) = b->next;
    std::free(b);
  }
  std::jmp_buf failed;

 private:
  struct alignas(std::max_align_t) block {
    block* next;
    block* previous;
  };
  block* first_ = nullptr;
};

bool compress_in(encoder_memory& memory, int quality, bytes_view from, std::uint8_t* to,
                 std::size_t* size) noexcept {
  BrotliEncoderState* const encoder =
      BrotliEncoderCreateInstance(encoder_memory::allocate, encoder_memory::deallocate, &memory);
  if (!encoder) return false;
  BrotliEncoderSetParameter(encoder, BROTLI_PARAM_QUALITY, static_cast<std::uint32_t>(quality));
  BrotliEncoderSetParameter(encoder, BROTLI_PARAM_LGWIN, BROTLI_DEFAULT_WINDOW);
  BrotliEncoderSetParameter(encoder, BROTLI_PARAM_SIZE_HINT, static_cast<std::uint32_t>(from.size()));
  const std::uint8_t* in = from.data();
  std::size_t unread = from.size();
  std::size_t made = 0;
  const bool done =
      BrotliEncoderCompressStream(encoder, BROTLI_OPERATION_FINISH, &unread, &in, size, &to, &made) &&
      BrotliEncoderIsFinished(encoder);
  BrotliEncoderDestroyInstance(encoder);
  *size = made;
  return done;
}

// No frame between this one and allocate() has anything to destroy.
[[gnu::noinline]] bool guarded_compress(encoder_memory& memory, int quality, bytes_view from,
                                        std::uint8_t* to, std::size_t* size) noexcept {
  if (setjmp(memory.failed) != 0) return false;
  return compress_in(memory, quality, from, to, size);
}

// The library cannot reset a context, so each message makes its own.
class brotli_coder final : public stream_coder {
 public:
  bool compress(bytes_view from, int level, base::output_buffer& to) override {
    const int quality = level_within(level, BROTLI_MIN_QUALITY, BROTLI_MAX_QUALITY, 4);
    std::size_t n = BrotliEncoderMaxCompressedSize(from.size());
    if (n == 0) return false;  // larger than brotli supports
    std::uint8_t* room = to.reserve(n);
    encoder_memory memory;
    if (!guarded_compress(memory, quality, from, room, &n)) return false;
    to.commit(n);
    return true;
  }

  // The library fills its window before it returns any data, whatever output space it is given. A window that
  // is larger than any allowed message would only cost time and memory.
  decompress_result decompress_step(bytes_view& from, std::size_t max_bytes, std::size_t step_bytes,
                                    base::output_buffer& to) override {
    if (!std::exchange(begun_, true) && !from.empty() &&
        window_bytes(from[0]) > std::max(max_bytes, window_max_bytes))
      return decompress_result::too_large;
    return stream_coder::decompress_step(from, max_bytes, step_bytes, to);
  }

  bool begin_decompress() override {
    begun_ = false;
    setup_cost_bytes_ = 0;
    allocated_bytes_ = 0;
    state_.reset(BrotliDecoderCreateInstance(allocate, deallocate, this));
    return state_ != nullptr;
  }

 private:
  // The largest window that encoders use by default.
  static constexpr std::size_t window_max_bytes = std::size_t{4} << 20;
  // What the decoder of any message allocates: its state, and the tables of one block.
  static constexpr std::size_t usual_start_bytes = 32u << 10;

  // The library allocates its window when it begins to fill it, and the tables of each block when it builds
  // them. What it allocates shows that work before any content appears, and also in a message that turns out
  // to be broken.
  static void* allocate(void* self, std::size_t n) noexcept {
    auto& c = *static_cast<brotli_coder*>(self);
    const std::size_t before = std::max(c.allocated_bytes_, usual_start_bytes);
    c.allocated_bytes_ += n;
    c.setup_cost_bytes_ += std::max(c.allocated_bytes_, before) - before;
    return std::malloc(n);
  }
  static void deallocate(void*, void* p) noexcept { std::free(p); }

  // Reads the window size from the first byte of a message (RFC 7932 9.1). Only large windows need to be
  // exact.
  static constexpr std::size_t window_bytes(std::uint8_t first) noexcept {
    const unsigned bits = (first & 1u) == 0 ? 16 : 17 + ((first >> 1) & 7u);
    return std::size_t{1} << bits;
  }

  piece decompress_piece(bytes_view from, std::span<std::uint8_t> to) noexcept override {
    const std::uint8_t* in = from.data();
    std::uint8_t* out = to.data();
    std::size_t unread = from.size();
    std::size_t unused = to.size();
    const BrotliDecoderResult result =
        BrotliDecoderDecompressStream(state_.get(), &unread, &in, &unused, &out, nullptr);
    piece p{from.size() - unread, to.size() - unused, frame::open};
    if (result == BROTLI_DECODER_RESULT_SUCCESS) p.state = frame::ended;
    if (result == BROTLI_DECODER_RESULT_ERROR) {
      // The error codes for failed allocations form a range; see <brotli/decode.h>.
      const BrotliDecoderErrorCode error = BrotliDecoderGetErrorCode(state_.get());
      const bool memory = error <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
                          error >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
      p.state = memory ? frame::no_memory : frame::broken;
    }
    if (p.state != frame::open) state_.reset();  // frees up to 16 MiB of window
    return p;
  }

  struct destroy {
    void operator()(BrotliDecoderState* s) const noexcept { BrotliDecoderDestroyInstance(s); }
  };
  std::unique_ptr<BrotliDecoderState, destroy> state_;
  bool begun_ = false;
  std::size_t allocated_bytes_ = 0;  // for the message
};

}  // namespace

std::unique_ptr<coder> make_brotli() { return std::make_unique<brotli_coder>(); }

}  // namespace coracle::compress
