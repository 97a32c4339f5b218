#include "hpack/huffman.hpp"

#include "unit/hpack/reference_decoder.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace coracle::hpack::huffman_test {
namespace {

using testing::block;
using testing::from_hex;

block encoded(std::string_view text) {
  block out(huffman::encoded_bytes(text));
  EXPECT_EQ(huffman::encode(out.data(), text), out.data() + out.size());
  return out;
}

testing::reference_text decoded(bytes_view input) {
  std::vector<char> out(huffman::decoded_bound(input.size()));
  const huffman::decoded result = huffman::decode(input, out.data());
  switch (result.error) {
    case huffman::error::end_of_string: return {{}, decode_error::huffman_end_of_string};
    case huffman::error::padding: return {{}, decode_error::huffman_padding};
    case huffman::error::none: break;
  }
  return {std::string(out.data(), result.bytes), decode_error::none};
}

void expect_same(bytes_view input) {
  const testing::reference_text slow = testing::reference_huffman_decode(input);
  const testing::reference_text fast = decoded(input);
  EXPECT_EQ(fast.error, slow.error);
  EXPECT_EQ(fast.text, slow.text);
}

TEST(HpackHuffman, StringsOfRfc7541AppendixC) {
  EXPECT_EQ(encoded("www.example.com"), from_hex("f1e3 c2e5 f23a 6ba0 ab90 f4ff"));
  EXPECT_EQ(encoded("no-cache"), from_hex("a8eb 1064 9cbf"));
  EXPECT_EQ(encoded("302"), from_hex("6402"));
  EXPECT_EQ(encoded("Mon, 21 Oct 2013 20:13:21 GMT"),
            from_hex("d07a be94 1054 d444 a820 0595 040b 8166 e082 a62d 1bff"));
}

// RFC 7541 Appendix B at the places where the length of the code changes.
TEST(HpackHuffman, CodesFollowFromTheirLengths) {
  const auto code = [](unsigned symbol) { return huffman::codes[symbol]; };
  EXPECT_EQ(code('0').bits, 0x0u);
  EXPECT_EQ(code('t').bits, 0x9u);
  EXPECT_EQ(code(' ').bits, 0x14u);
  EXPECT_EQ(code('u').bits, 0x2du);
  EXPECT_EQ(code(':').bits, 0x5cu);
  EXPECT_EQ(code('z').bits, 0x7bu);
  EXPECT_EQ(code('&').bits, 0xf8u);
  EXPECT_EQ(code('Z').bits, 0xfdu);
  EXPECT_EQ(code('!').bits, 0x3f8u);
  EXPECT_EQ(code('\'').bits, 0x7fau);
  EXPECT_EQ(code('#').bits, 0xffau);
  EXPECT_EQ(code(0).bits, 0x1ff8u);
  EXPECT_EQ(code('^').bits, 0x3ffcu);
  EXPECT_EQ(code('<').bits, 0x7ffcu);
  EXPECT_EQ(code('\\').bits, 0x7fff0u);
  EXPECT_EQ(code(128).bits, 0xfffe6u);
  EXPECT_EQ(code(153).bits, 0x1fffdcu);
  EXPECT_EQ(code(129).bits, 0x3fffd2u);
  EXPECT_EQ(code(1).bits, 0x7fffd8u);
  EXPECT_EQ(code(9).bits, 0xffffeau);
  EXPECT_EQ(code(199).bits, 0x1ffffecu);
  EXPECT_EQ(code(192).bits, 0x3ffffe0u);
  EXPECT_EQ(code(203).bits, 0x7ffffdeu);
  EXPECT_EQ(code(2).bits, 0xfffffe2u);
  EXPECT_EQ(code(249).bits, 0xffffffeu);
  EXPECT_EQ(code(10).bits, 0x3ffffffcu);
  EXPECT_EQ(code(huffman::end_of_string_symbol).bits, 0x3fffffffu);
}

TEST(HpackHuffman, EveryOctetComesBackAloneAndBetweenOthers) {
  for (int octet = 0; octet < 256; ++octet) {
    const std::string alone(1, static_cast<char>(octet));
    EXPECT_EQ(decoded(encoded(alone)).text, alone);
    for (const char* around : {"a", "0123456789", "~~~"}) {
      const std::string text = around + alone + around + alone;
      EXPECT_EQ(decoded(encoded(text)).text, text);
    }
  }
}

TEST(HpackHuffman, TheEmptyStringIsNoBytes) {
  EXPECT_EQ(huffman::encoded_bytes(""), 0u);
  EXPECT_EQ(decoded({}).text, "");
  EXPECT_EQ(decoded({}).error, decode_error::none);
}

TEST(HpackHuffman, RandomTextsOfAllLengthsComeBack) {
  testing::random_numbers random(7541);
  for (std::size_t length = 0; length < 200; length += length < 40 ? 1 : 13) {
    std::string text(length, '\0');
    const unsigned kind = random() % 3;
    for (char& c : text)
      c = static_cast<char>(kind == 0 ? random() : kind == 1 ? 'a' + random() % 26 : 32 + random() % 95);
    const block b = encoded(text);
    EXPECT_EQ(decoded(b).text, text);
    for (std::size_t cut = 0; cut < b.size(); ++cut) expect_same(bytes_view(b).first(cut));
  }
}

TEST(HpackHuffman, RandomBytesDecodeAsTheReferenceSays) {
  testing::random_numbers random(1);
  for (int round = 0; round < 10000; ++round) {
    block b(random() % 40);
    // Many ones lead to the long codes.
    for (std::uint8_t& byte : b) byte = static_cast<std::uint8_t>(random() % 4 == 0 ? random() : 0xff);
    expect_same(b);
  }
}

TEST(HpackHuffman, PaddingOfSevenOnesIsTheMost) {
  // '0' is 00000; another byte of ones is too much padding (RFC 7541 5.2).
  EXPECT_EQ(decoded(from_hex("07")).text, "0");
  EXPECT_EQ(decoded(from_hex("07ff")).error, decode_error::huffman_padding);
  EXPECT_EQ(decoded(from_hex("ff")).error, decode_error::huffman_padding);
  EXPECT_EQ(decoded(from_hex("ffffff")).error, decode_error::huffman_padding);
}

TEST(HpackHuffman, PaddingMustBeOnes) {
  for (const unsigned last : {0x00u, 0x01u, 0x03u, 0x06u})
    EXPECT_EQ(decoded(block{static_cast<std::uint8_t>(last)}).error, decode_error::huffman_padding);
}

TEST(HpackHuffman, EndOfStringIsAnErrorWhereverItStands) {
  EXPECT_EQ(decoded(from_hex("ffffffff")).error, decode_error::huffman_end_of_string);
  EXPECT_EQ(decoded(from_hex("fffffffc")).error, decode_error::huffman_end_of_string);
  EXPECT_EQ(decoded(from_hex("0000 0000 0000 ffff ffff ffff ffff")).error,
            decode_error::huffman_end_of_string);
  EXPECT_EQ(decoded(from_hex("ffff ffff 0000 0000 0000 0000")).error, decode_error::huffman_end_of_string);
}

}  // namespace
}  // namespace coracle::hpack::huffman_test
