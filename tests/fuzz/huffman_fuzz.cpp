// Any bytes decode as the bit-by-bit reference does; any text survives encoding.
#include "hpack/huffman.hpp"
#include "unit/hpack/reference_decoder.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace hpack = coracle::hpack;
namespace huffman = coracle::hpack::huffman;

namespace {

void require(bool fine) {
  if (!fine) std::abort();
}

hpack::decode_error error_of(huffman::error error) {
  return error == huffman::error::none      ? hpack::decode_error::none
         : error == huffman::error::padding ? hpack::decode_error::huffman_padding
                                            : hpack::decode_error::huffman_end_of_string;
}

void decodes_as_the_reference(const std::vector<std::uint8_t>& input) {
  std::vector<char> out(huffman::decoded_bound(input.size()));
  const huffman::decoded fast = huffman::decode(input, out.data());
  const hpack::testing::reference_text slow = hpack::testing::reference_huffman_decode(input);
  require(error_of(fast.error) == slow.error);
  require(fast.error != huffman::error::none || std::string_view(out.data(), fast.bytes) == slow.text);
}

void survives(std::string_view text) {
  std::vector<std::uint8_t> encoded(huffman::encoded_bytes(text));
  require(huffman::encode(encoded.data(), text) == encoded.data() + encoded.size());
  std::vector<char> out(huffman::decoded_bound(encoded.size()));
  const huffman::decoded back = huffman::decode(encoded, out.data());
  require(back.error == huffman::error::none && std::string_view(out.data(), back.bytes) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  decodes_as_the_reference({data, data + size});
  survives(coracle::as_text({data, size}));
  return 0;
}
