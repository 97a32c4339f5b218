#include "unit/compress/samples.hpp"

#include "compress/crc32c.hpp"

#include <algorithm>

namespace coracle::compress::coder_test {
namespace {

class coder_of : public each_encoding {};
INSTANTIATE_TEST_SUITE_P(Encoding, coder_of, testing::ValuesIn(encodings_here()), encoding_name);

TEST_P(coder_of, GivesBackWhatItWasGiven) {
  for (const std::size_t n : {0, 1, 5, 100, 4095, 4096, 65'535, 65'536, 65'537, 300'000}) {
    for (const std::string& text : {repeated(n), noise(n)}) {
      std::string back;
      ASSERT_EQ(decompress(packed(text), text.size(), back), decompress_result::done) << n;
      EXPECT_EQ(back, text) << n;
    }
  }
}

TEST_P(coder_of, MakesTextSmallerAndNoiseHardlyLarger) {
  EXPECT_LT(packed(repeated(100'000)).size(), 20'000u);
  EXPECT_LT(packed(noise(100'000)).size(), 101'000u);
}

TEST_P(coder_of, TakesAnyLevelAndTheNearestOfThoseItHas) {
  const std::string text = repeated(50'000);
  for (const int level : {-1000, -1, 0, 1, 2, 5, 9, 11, 12, 19, 20, 22, 1000}) {
    std::string back;
    ASSERT_EQ(decompress(packed(text, level), text.size(), back), decompress_result::done) << level;
    EXPECT_EQ(back, text) << level;
  }
}

TEST_P(coder_of, AppendsToWhatIsThere) {
  base::output_buffer to;
  to.append(as_bytes("head"));
  ASSERT_TRUE(one().compress(as_bytes("body"), compression::level_default, to));
  ASSERT_EQ(as_text(to.pending().first(4)), "head");
  base::output_buffer back;
  back.append(as_bytes("before "));
  ASSERT_EQ(one().decompress(to.pending().subspan(4), 100, back), decompress_result::done);
  EXPECT_EQ(as_text(back.pending()), "before body");
}

TEST_P(coder_of, StopsABombAtTheLimitAndLetsTheLimitItselfPass) {
  const std::string text(10 << 20, '\0');
  const std::string bomb = packed(text);
  std::string back;
  EXPECT_EQ(decompress(bomb, text.size(), back), decompress_result::done);
  EXPECT_EQ(decompress(bomb, text.size() - 1, back), decompress_result::too_large);
  EXPECT_EQ(decompress(bomb, 0, back), decompress_result::too_large);
  EXPECT_EQ(decompress(bomb, 50'000, back), decompress_result::too_large);
  EXPECT_LE(back.size(), 50'000 + piece_bytes);
  EXPECT_EQ(decompress(packed(""), 0, back), decompress_result::done);
}

// A fault does not affect the next message.
TEST_P(coder_of, TellsWhatIsCutShortAtAnyByte) {
  const std::string text = repeated(200) + noise(100);
  const std::string whole = packed(text);
  std::string back;
  for (std::size_t n = 0; n < whole.size(); ++n) {
    // snappy's framing has no end: an identifier alone is an empty message, and so is empty input.
    if (GetParam() == encoding::snappy && (n == 0 || n == 10)) continue;
    EXPECT_EQ(decompress(whole.substr(0, n), 10'000, back), decompress_result::broken) << n;
  }
  ASSERT_EQ(decompress(whole, 10'000, back), decompress_result::done);
  EXPECT_EQ(back, text);
}

TEST_P(coder_of, TellsWhatStandsBehindItsEnd) {
  std::string back;
  EXPECT_EQ(decompress(packed("message") + "x", 10'000, back), decompress_result::broken);
}

TEST_P(coder_of, NeverTakesACorruptMessageForALongerOneThanAllowed) {
  const std::string whole = packed(repeated(2000));
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string broken = whole;
    for (int flips = 1 + i % 3; flips > 0; --flips)
      broken[random() % broken.size()] ^= static_cast<char>(1 << (random() % 8));
    std::string back;
    if (decompress(broken, 3000, back) == decompress_result::done) {
      EXPECT_LE(back.size(), 3000u);
    }
  }
}

TEST(Encoding, HasTheNameThatItHasOnTheWire) {
  EXPECT_EQ(name_of(encoding::brotli), "br");
  for (std::size_t i = 0; i < encoding_count; ++i) {
    const auto e = static_cast<encoding>(i);
    EXPECT_EQ(encoding_named(name_of(e)), e);
  }
  EXPECT_EQ(encoding_named("GZIP"), std::nullopt);
  EXPECT_EQ(encoding_named(""), std::nullopt);
  for (const encoding e : {encoding::identity, encoding::deflate, encoding::gzip, encoding::zstd})
    EXPECT_TRUE(available(e));
}

TEST(Gzip, MayHaveSeveralMembers) {
  coders c;
  base::output_buffer both;
  ASSERT_TRUE(c.of(encoding::gzip)->compress(as_bytes("one, "), 1, both));
  ASSERT_TRUE(c.of(encoding::gzip)->compress(as_bytes("two"), 9, both));
  base::output_buffer back;
  ASSERT_EQ(c.of(encoding::gzip)->decompress(both.pending(), 100, back), decompress_result::done);
  EXPECT_EQ(as_text(back.pending()), "one, two");
}

TEST(Deflate, IsNotTheRawFormatThatHasNoHeader) {
  coders c;
  base::output_buffer wrapped;
  ASSERT_TRUE(c.of(encoding::deflate)->compress(as_bytes("text"), 6, wrapped));
  EXPECT_EQ(wrapped.pending()[0], 0x78);
  base::output_buffer back;
  EXPECT_EQ(c.of(encoding::deflate)->decompress(wrapped.pending().subspan(2), 100, back),
            decompress_result::broken);
}

TEST(Zstd, RefusesAWindowOfGigabytes) {
  // A frame that requests a window of 2 GiB (descriptor 0xa8), with one raw block of one byte.
  const std::uint8_t greedy[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x09, 0x00, 0x00, 'x'};
  coders c;
  base::output_buffer back;
  EXPECT_EQ(c.of(encoding::zstd)->decompress(greedy, 100, back), decompress_result::broken);
}

TEST(Brotli, RefusesAWindowThatIsLargerThanAnyMessageMayBe) {
  coders c;
  if (!available(encoding::brotli)) GTEST_SKIP() << "built without brotli";
  // An empty message (RFC 7932 9.2: ISLAST, ISLASTEMPTY) with windows of 4 MiB, 8 MiB and 16 MiB.
  const std::uint8_t window_22[] = {0x3b}, window_23[] = {0x3d}, window_24[] = {0x3f};
  const auto decompress = [&](bytes_view from, std::size_t max_bytes) {
    base::output_buffer back;
    return c.of(encoding::brotli)->decompress(from, max_bytes, back);
  };
  EXPECT_EQ(decompress(window_22, 100), decompress_result::done);
  EXPECT_EQ(decompress(window_23, 4 << 20), decompress_result::too_large);
  EXPECT_EQ(decompress(window_23, 8 << 20), decompress_result::done);
  EXPECT_EQ(decompress(window_24, 8 << 20), decompress_result::too_large);
  EXPECT_EQ(decompress(window_24, 16 << 20), decompress_result::done);
}

// --- what a message costs beyond its bytes

TEST_P(coder_of, ASmallMessageCostsNothingBeyondItsStart) {
  const std::string whole = packed(repeated(500));
  std::string back;
  ASSERT_EQ(decompress(whole, 500, back), decompress_result::done);
  EXPECT_EQ(one().setup_cost_bytes(), 0u);
}

TEST(Gzip, CountsMembersWithoutContent) {
  coders c;
  base::output_buffer all;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(c.of(encoding::gzip)->compress({}, 1, all));
  base::output_buffer back;
  coder& one = *c.of(encoding::gzip);
  ASSERT_TRUE(one.begin_decompress());
  bytes_view from = all.pending();
  EXPECT_EQ(one.decompress_step(from, 100, 1000, back), decompress_result::more);
  EXPECT_GT(from.size(), all.pending().size() * 9 / 10) << "a step is 20 members";
  EXPECT_EQ(one.decompress_step(from, 100, 1 << 20, back), decompress_result::done);
  EXPECT_EQ(one.setup_cost_bytes(), 999u * 32);
  ASSERT_TRUE(one.begin_decompress());
  EXPECT_EQ(one.setup_cost_bytes(), 0u) << "of the next message";
}

TEST(Zstd, CountsFramesWithoutContent) {
  coders c;
  base::output_buffer all;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(c.of(encoding::zstd)->compress({}, 1, all));
  base::output_buffer back;
  EXPECT_EQ(c.of(encoding::zstd)->decompress(all.pending(), 100, back), decompress_result::done);
  EXPECT_EQ(c.of(encoding::zstd)->setup_cost_bytes(), 99u * 32);
}

TEST(Brotli, CountsTheWindowOfAMessageThatMakesNothing) {
  coders c;
  if (!available(encoding::brotli)) GTEST_SKIP() << "built without brotli";
  base::output_buffer whole;
  ASSERT_TRUE(c.of(encoding::brotli)->compress(as_bytes(std::string(4 << 20, '\0')), 4, whole));
  base::output_buffer back;
  const bytes_view cut = whole.pending().first(whole.pending().size() - 1);
  EXPECT_EQ(c.of(encoding::brotli)->decompress(cut, 4 << 20, back), decompress_result::broken);
  EXPECT_EQ(back.size(), 0u);
  EXPECT_GE(c.of(encoding::brotli)->setup_cost_bytes(), (std::size_t{4} << 20) - (32u << 10));
}

TEST(Crc32c, GivesTheValuesOfRfc3720) {
  EXPECT_EQ(crc32c(std::vector<std::uint8_t>(32, 0)), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::vector<std::uint8_t>(32, 0xff)), 0x62a8ab43u);
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283u);
}

}  // namespace
}  // namespace coracle::compress::coder_test
