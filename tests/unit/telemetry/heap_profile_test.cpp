#include "telemetry/profiles/heap_profile.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <optional>
#include <string>

namespace coracle::telemetry_internal::heap_profile_test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(heap_profile, TheBlocksThatJemallocSamplesStandForAll) {
  const auto read = read_heap_dump(
      "heap_v2/100\n"
      "  t*: 3: 1100 [0: 0]\n"
      "  t0: 3: 1100 [0: 0]\n"
      "@ 0x2001 0x3001\n"
      "  t*: 1: 100 [2: 200]\n"
      "  t0: 1: 100 [2: 200]\n"
      "@ 0x4001\n"
      "  t*: 2: 100000 [0: 0]\n"
      "  t0: 1: 50000 [0: 0]\n"
      "  t1: 1: 50000 [0: 0]\n"
      "\n"
      "MAPPED_LIBRARIES:\n"
      "1000-2000 r-xp 00000000 fe:00 9978027 /bin/program\n");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->default_type, "inuse_space");
  EXPECT_EQ(read->period, 100U);
  ASSERT_THAT(read->samples, SizeIs(2));
  EXPECT_THAT(read->samples[0].addresses, ElementsAre(0x2000, 0x3000)) << "in the instructions that call";
  // A block of the size of the interval is recorded with a probability of 1 - 1/e.
  EXPECT_THAT(read->samples[0].values, ElementsAre(2, 158, 3, 316));
  EXPECT_THAT(read->samples[1].addresses, ElementsAre(0x4000));
  EXPECT_THAT(read->samples[1].values, ElementsAre(2, 100'000, 0, 0)) << "recorded for certain";
}

TEST(heap_profile, GperftoolsRecordsEachBlock) {
  const auto read = read_heap_dump(
      "heap profile:      2:      150 [     7:     900] @ heapprofile\n"
      "     1:      100 [     5:      500] @ 0x2001 0x3001\n"
      "     1:       50 [     2:      400] @ 0x4001\n"
      "\n"
      "MAPPED_LIBRARIES:\n"
      "1000-2000 r-xp 00000000 fe:00 9978027 /bin/program\n");
  ASSERT_TRUE(read.has_value());
  ASSERT_THAT(read->samples, SizeIs(2));
  EXPECT_THAT(read->samples[0].addresses, ElementsAre(0x2000, 0x3000));
  EXPECT_THAT(read->samples[0].values, ElementsAre(1, 100, 5, 500));
  EXPECT_THAT(read->samples[1].values, ElementsAre(1, 50, 2, 400));
}

TEST(heap_profile, AnotherFormatIsNone) {
  for (const char* text : {"", "heap_v3/1\n", "heap_v2/x\n", "<html>\n"})
    EXPECT_FALSE(read_heap_dump(text).has_value()) << text;
}

TEST(heap_profile, LinesThatAreCutOrWrongAreLeftOut) {
  const auto read = read_heap_dump(
      "heap_v2/1\n"
      "  t*: 1: 100 [0: 0]\n"
      "@ 0xffffffffffffffffffff\n"
      "  t*: 1: 100 [0: 0]\n"
      "@ 0x2001 0x\n"
      "  t*: 1: [0: 0]\n"
      "  t*: 0: 0 [0: 0]\n"
      "@ 0x3001\n"
      "  t*: 1: 1");
  ASSERT_TRUE(read.has_value());
  ASSERT_THAT(read->samples, SizeIs(1));
  EXPECT_THAT(read->samples[0].addresses, ElementsAre(0x2000));
}

}  // namespace
}  // namespace coracle::telemetry_internal::heap_profile_test
