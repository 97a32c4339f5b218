// Decompresses arbitrary bytes, in every encoding, at once and in steps with the same result, compresses
// them, and decompresses the result: the output stays within the limit, and the round trip returns the input.
// The first byte chooses the encoding, the second the limit and the level, the third the bytes of a step.
#include "compress/coder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

using namespace coracle;

namespace {

// As `expected`, with the output of the single call.
void decompress_in_steps(compress::coder& one, bytes_view input, std::size_t limit, std::size_t step_bytes,
                         compress::decompress_result expected, const base::output_buffer& whole) {
  base::output_buffer out;
  compress::decompress_result outcome = compress::decompress_result::more;
  if (!one.begin_decompress()) std::abort();
  while (outcome == compress::decompress_result::more) {
    const std::size_t unread_before = input.size(), made_before = out.size();
    outcome = one.decompress_step(input, limit - made_before, step_bytes, out);
    const std::size_t used = unread_before - input.size() + out.size() - made_before;
    // A step without progress would never end; one that does too much blocks the loop. 128 KiB: a chunk of
    // snappy, which is not split, compressed and decompressed.
    if (outcome == compress::decompress_result::more && used == 0) std::abort();
    if (used > step_bytes + (128u << 10)) std::abort();
    if (outcome == compress::decompress_result::more && out.size() > limit) std::abort();
  }
  if (outcome != expected) std::abort();
  if (outcome == compress::decompress_result::done && !std::ranges::equal(out.pending(), whole.pending()))
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  // Kept from input to input, as a loop keeps them: an invalid message must not affect the next.
  static compress::coders all;
  compress::coder* one = all.of(static_cast<encoding>(1 + data[0] % (encoding_count - 1)));
  if (!one) return 0;
  const std::size_t limit = std::size_t{data[1]} * 257;
  const std::size_t step_bytes = 1 + std::size_t{data[2]} * 16;
  const bytes_view input(data + 3, size - 3);

  base::output_buffer out;
  const compress::decompress_result outcome = one->decompress(input, limit, out);
  if (out.size() > limit + (outcome == compress::decompress_result::done ? 0 : compress::piece_bytes))
    std::abort();
  decompress_in_steps(*one, input, limit, step_bytes, outcome, out);

  base::output_buffer packed;
  base::output_buffer back;
  if (!one->compress(input, data[1] % 13, packed)) std::abort();
  if (one->decompress(packed.pending(), input.size(), back) != compress::decompress_result::done)
    std::abort();
  if (!std::ranges::equal(back.pending(), input)) std::abort();
  return 0;
}
