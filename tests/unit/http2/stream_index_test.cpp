#include "http2/stream_index.hpp"

#include <gtest/gtest.h>
#include <map>
#include <random>

namespace coracle::http2::stream_index_test {
namespace {

TEST(Http2StreamIndex, FindsNothingWhileEmpty) {
  stream_index index;
  EXPECT_EQ(index.find(1), stream_index::no_place);
  EXPECT_EQ(index.capacity_bytes(), 0u);
}

TEST(Http2StreamIndex, AgreesWithAMapWhateverComesAndGoes) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    stream_index index;
    std::map<stream_id, std::uint32_t> model;
    stream_id next = 1;
    for (int i = 0; i < 5000; ++i) {
      if (model.size() < 100 && random() % 2 == 0) {
        // Strides that a hostile client may choose.
        next += 2 * (1 + (random() % 4 == 0 ? random() % 5000 : 0));
        model[next] = static_cast<std::uint32_t>(i);
        index.insert(next, static_cast<std::uint32_t>(i));
      } else if (!model.empty()) {
        auto at = model.begin();
        std::advance(at, static_cast<long>(random() % model.size()));
        index.erase(at->first);
        model.erase(at);
      }
      ASSERT_EQ(index.size(), model.size());
      for (const auto& [id, place] : model) ASSERT_EQ(index.find(id), place) << "seed " << seed;
      ASSERT_EQ(index.find(next + 2), stream_index::no_place);
    }
  }
}

TEST(Http2StreamIndex, DoesNotGrowWhileStreamsComeAndGo) {
  stream_index index;
  for (stream_id id = 1; id <= 15; id += 2) index.insert(id, id);
  const std::size_t bytes = index.capacity_bytes();
  for (stream_id id = 17; id < 100001; id += 2) {
    index.erase(id - 16);
    index.insert(id, id);
  }
  EXPECT_EQ(index.capacity_bytes(), bytes);
}

TEST(Http2StreamIndex, GivesItsMemoryBackOnlyWhenItIsEmpty) {
  stream_index index;
  for (stream_id id = 1; id <= 99; id += 2) index.insert(id, id);
  index.release();
  EXPECT_EQ(index.find(99), 99u);
  for (stream_id id = 1; id <= 99; id += 2) index.erase(id);
  index.release();
  EXPECT_EQ(index.capacity_bytes(), 0u);
  EXPECT_EQ(index.find(1), stream_index::no_place);
  index.insert(101, 7);
  EXPECT_EQ(index.find(101), 7u);
}

}  // namespace
}  // namespace coracle::http2::stream_index_test
