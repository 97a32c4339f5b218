// Decompresses anything, in every encoding, and compresses it and back: no more than is allowed comes out, and what
// was put in comes back. The first byte chooses the encoding, the second the limit and the level.
#include "compress/coders.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

using namespace coracle;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  // Kept from input to input, as a loop keeps them: a broken message must not spoil the next.
  static compress::coders all;
  compress::coder* one = all.of(static_cast<encoding>(1 + data[0] % (encoding_count - 1)));
  if (!one) return 0;
  const std::size_t limit = std::size_t{data[1]} * 257;
  const bytes_view input(data + 2, size - 2);

  base::output_buffer out;
  const compress::unpacked how = one->unpack(input, limit, out);
  if (out.size() > limit + (how == compress::unpacked::done ? 0 : compress::piece_bytes)) std::abort();

  base::output_buffer packed;
  base::output_buffer back;
  if (!one->pack(input, data[1] % 13, packed)) std::abort();
  if (one->unpack(packed.pending(), input.size(), back) != compress::unpacked::done) std::abort();
  if (!std::ranges::equal(back.pending(), input)) std::abort();
  return 0;
}
