#include "rpc/decompression.hpp"

#include "rpc/message_format.hpp"
#include "support/manual_executor.hpp"
#include "unit/compress/samples.hpp"

#include <gtest/gtest.h>

namespace coracle::rpc::decompression_test {
namespace {

class unpacking_of : public compress::each_encoding {
 protected:
  // Returns the number of steps.
  int run(decompression& u, const std::string& whole, std::uint32_t max_bytes, std::size_t step_bytes) {
    int steps = 1;
    while (!u.step(as_bytes(whole), max_bytes, step_bytes)) ++steps;
    return steps;
  }
  test::manual_executor here_;  // whose coders and buffers messages pass through
};
INSTANTIATE_TEST_SUITE_P(Encoding, unpacking_of, testing::ValuesIn(compress::encodings_here()),
                         compress::encoding_name);

TEST_P(unpacking_of, GivesTheSameMessageInStepsOfAnySize) {
  const std::string text = compress::repeated(150'000) + compress::noise(50'000);
  const std::string whole = packed(text);
  for (const std::size_t step_bytes : {1u, 1000u, 16'384u, 100'000u, 10'000'000u}) {
    decompression u(GetParam());
    const int steps = run(u, whole, 200'000, step_bytes);
    ASSERT_EQ(u.failure(), status()) << step_bytes;
    EXPECT_EQ(as_text(u.body()), text) << step_bytes;
    if (step_bytes <= 16'384) {
      EXPECT_GT(steps, 2) << step_bytes;
    }
    if (step_bytes == 10'000'000) {
      EXPECT_EQ(steps, 1);
    }
  }
}

TEST_P(unpacking_of, NeverDoesMuchMoreThanItsStep) {
  const std::string whole = packed(std::string(4 << 20, '\0'));
  decompression u(GetParam());
  std::size_t before = 0;
  bool ended = false;
  while (!ended) {
    ended = u.step(as_bytes(whole), 4 << 20, 10'000);
    // A step ends with the piece that uses it up; the pieces of snappy are its chunks of 64 KiB, and the
    // first one of brotli fills its window.
    const std::size_t piece = GetParam() == encoding::snappy                  ? 80'000u
                              : GetParam() == encoding::brotli && before == 0 ? (4u << 20) + 80'000u
                                                                              : 2 * compress::piece_bytes;
    EXPECT_LE(u.work_bytes() - before, 10'000u + piece);
    before = u.work_bytes();
  }
  EXPECT_EQ(u.failure(), status());
  EXPECT_EQ(u.body().size(), 4u << 20);
}

TEST_P(unpacking_of, StopsAtTheLimitInWhicheverStepItIsReached) {
  const std::string whole = packed(std::string(1 << 20, '\0'));
  decompression u(GetParam());
  EXPECT_GT(run(u, whole, (1 << 20) - 1, 20'000), 2);
  EXPECT_EQ(u.failure().code(), status_code::resource_exhausted);
}

TEST_P(unpacking_of, IsNotDisturbedByAnotherMessageInBetween) {
  const std::string text = compress::repeated(300'000);
  const std::string other = compress::noise(5'000);
  const std::string whole = packed(text);
  const std::string whole_other = packed(other);
  decompression first(GetParam());
  ASSERT_FALSE(first.step(as_bytes(whole), 300'000, 1000));
  {
    decompression abandoned(GetParam());
    ASSERT_FALSE(abandoned.step(as_bytes(whole), 300'000, 1000));
  }
  for (int i = 0; i < 3; ++i) {
    decompression second(GetParam());
    ASSERT_TRUE(second.step(as_bytes(whole_other), 5'000, 1 << 20));
    ASSERT_EQ(second.failure(), status());
    EXPECT_EQ(as_text(second.body()), other);
  }
  run(first, whole, 300'000, 1000);
  ASSERT_EQ(first.failure(), status());
  EXPECT_EQ(as_text(first.body()), text);
}

TEST_P(unpacking_of, TellsWhatIsCutShort) {
  const std::string whole = packed(compress::noise(40'000));
  decompression u(GetParam());
  run(u, whole.substr(0, whole.size() - 1), 40'000, 1000);
  EXPECT_EQ(u.failure().code(), status_code::internal);
}

TEST(Unpacking, RefusesACompressedMessageWhereNoEncodingWasAgreedOn) {
  test::manual_executor here;
  decompression u(encoding::identity);
  EXPECT_TRUE(u.step(as_bytes("x"), 100, 100));
  EXPECT_EQ(u.failure().code(), status_code::internal);
}

TEST(Unpacking, ReturnsItsCoderAndItsBufferToTheLoop) {
  test::manual_executor here;
  compress::coders packing;
  base::output_buffer packed;
  ASSERT_TRUE(packing.of(encoding::gzip)->compress(as_bytes(std::string(1000, 'x')), 1, packed));
  const compress::coder* coder = nullptr;
  for (int i = 0; i < 3; ++i) {
    {
      decompression u(encoding::gzip);
      ASSERT_TRUE(u.step(packed.pending(), 1000, 100'000));
      ASSERT_EQ(u.failure(), status());
    }
    message_workspace& spare = message_workspace::here();
    EXPECT_GE(spare.decompress_result.capacity(), 1000u);
    EXPECT_TRUE(!coder || coder == spare.coders.of(encoding::gzip)) << "the same coder each time";
    coder = spare.coders.of(encoding::gzip);
  }
}

}  // namespace
}  // namespace coracle::rpc::decompression_test
