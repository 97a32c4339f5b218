#include "rpc/message_footprint.hpp"

#include "footprints.pb.h"
#include "footprints_lite.pb.h"
#include "footprints_proto2.pb.h"
#include "support/allocation_counter.hpp"

#include <google/protobuf/arena.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace coracle::rpc::message_footprint_test {
namespace {

using footprints::Everything;

constexpr std::size_t no_end = std::numeric_limits<std::size_t>::max();

template <class T>
std::size_t estimate(message_footprint& f, const std::string& bytes, std::size_t enough = no_end) {
  const T empty;
  // Of exactly this size, so that a sanitizer detects a read beyond the end.
  const std::vector<std::uint8_t> body(bytes.begin(), bytes.end());
  return f.estimate(codec_of<T>::get(), codec_of<T>::address(empty), body, enough);
}
template <class T>
std::size_t estimate(const std::string& bytes) {
  message_footprint f;
  return estimate<T>(f, bytes);
}

std::string times(std::size_t n, const std::string& unit) {
  std::string all;
  while (n-- > 0) all += unit;
  return all;
}

struct shape {
  const char* name;
  // Adds one more element of the shape, the n-th.
  void (*add)(Everything& m, int n);
  // Many elements take more memory per byte than message_footprint::ratio_max.
  bool heavy = false;
};
void PrintTo(const shape& s, std::ostream* to) { *to << s.name; }

constexpr shape shapes[] = {
    {"SmallInt64s", [](Everything& m, int n) { m.add_int64s(n % 100); }},
    {"LargeInt64s", [](Everything& m, int n) { m.add_int64s(std::int64_t{-1} - n); }},
    {"Sint32s", [](Everything& m, int n) { m.add_sint32s(n); }},
    {"Bools", [](Everything& m, int) { m.add_bools(true); }},
    {"Doubles", [](Everything& m, int n) { m.add_doubles(n); }},
    {"Fixed32s", [](Everything& m, int n) { m.add_fixed32s(static_cast<std::uint32_t>(n)); }},
    {"Enums", [](Everything& m, int) { m.add_colors(footprints::GREEN); }},
    {"UnpackedInt64s", [](Everything& m, int n) { m.add_apart(n); }},
    {"Words", [](Everything& m, int) { m.add_strings("a word"); }},
    {"Letters", [](Everything& m, int) { m.add_strings("a"); }},
    {"Sentences",
     [](Everything& m, int) { m.add_strings("This sentence is longer than what a string has within."); }},
    {"Blobs", [](Everything& m, int) { m.add_blobs(std::string(1000, '\0')); }},
    {"OneLongText", [](Everything& m, int) { m.mutable_one()->append("A part of a long text. "); }},
    {"TextOfAChoice", [](Everything& m, int) { m.mutable_text()->append("A part of a long text. "); }},
    {"EmptyStrings", [](Everything& m, int) { m.add_strings(); }, true},
    {"EmptyMessages", [](Everything& m, int) { m.add_empties(); }, true},
    {"EmptyMessagesOfAHighNumber", [](Everything& m, int) { m.add_far(); }},
    {"EmptyPoints", [](Everything& m, int) { m.add_points(); }, true},
    {"EmptyRows", [](Everything& m, int) { m.add_rows(); }, true},
    {"PointsOfOneNumber", [](Everything& m, int n) { m.add_points()->set_x(n % 100 + 1); }},
    {"Points",
     [](Everything& m, int n) {
       m.add_points()->set_x(n + 1);
       m.mutable_points()->rbegin()->set_y(n + 2);
     }},
    {"Rows",
     [](Everything& m, int n) {
       footprints::Row& r = *m.add_rows();
       r.set_id(static_cast<std::uint64_t>(n + 1));
       r.set_name("Jane Doe");
       r.set_mail("jane.doe@mail.example");
       r.set_made(1'700'000'000 + n);
       r.set_active(true);
       r.set_score(n);
       r.add_tags("one");
       r.add_tags("two");
       r.mutable_at()->set_x(n);
     }},
    {"MapOfTexts",
     [](Everything& m, int n) { (*m.mutable_texts())["key " + std::to_string(n)] = "a value"; }},
    {"MapOfNumbers", [](Everything& m, int n) { (*m.mutable_numbers())[n] = n; }},
    {"MapOfPoints", [](Everything& m, int n) { (*m.mutable_places())[std::to_string(n)].set_x(n); }},
    {"MapOfRows", [](Everything& m, int n) { (*m.mutable_rows_by_id())[n].set_name("Jane Doe"); }},
    {"Trees",
     [](Everything& m, int n) {
       footprints::Node& root = *m.mutable_tree()->add_children();
       root.set_value(n);
       root.mutable_left()->set_value(n);
       root.mutable_left()->mutable_right()->set_value(n);
     }},
};

class footprint_of : public testing::TestWithParam<shape> {
 protected:
  static Everything make(int count) {
    Everything m;
    for (int i = 0; i < count; ++i) GetParam().add(m, i);
    return m;
  }
};
INSTANTIATE_TEST_SUITE_P(Messages, footprint_of, testing::ValuesIn(shapes),
                         [](const auto& i) { return std::string(i.param.name); });

// Spare capacity, which is at most as large as the elements, is detected only afterwards.
TEST_P(footprint_of, ItsBytesIsWhatItTakesWithoutItsSpareCapacity) {
  for (const int count : {1, 10, 100, 1'000, 10'000}) {
    const std::string bytes = make(count).SerializeAsString();
    Everything decoded;
    ASSERT_TRUE(decoded.ParseFromString(bytes));
    const double used = static_cast<double>(decoded.SpaceUsedLong());
    const auto estimated = static_cast<double>(estimate<Everything>(bytes));
    EXPECT_GE(estimated, used / 2) << count;
    EXPECT_LE(estimated, used * 1.25) << count;
  }
}

TEST_P(footprint_of, ItIsRefusedOnlyIfItIsHeavyForItsBytes) {
  const std::string bytes = make(10'000).SerializeAsString();
  EXPECT_EQ(estimate<Everything>(bytes) > message_footprint::ratio_max * bytes.size(), GetParam().heavy)
      << static_cast<double>(estimate<Everything>(bytes)) / static_cast<double>(bytes.size());
}

TEST_P(footprint_of, ItsBytesAsUnknownFieldsIsWhatTheseTake) {
  const std::string bytes = make(1'000).SerializeAsString();
  footprints::Nothing decoded;
  ASSERT_TRUE(decoded.ParseFromString(bytes));
  const double used = static_cast<double>(decoded.SpaceUsedLong());
  const auto estimated = static_cast<double>(estimate<footprints::Nothing>(bytes));
  EXPECT_GE(estimated, used / 2);
  EXPECT_LE(estimated, used * 1.25);
}

TEST_P(footprint_of, APartOfItsBytesIsNoMoreThanTheWhole) {
  const std::string bytes = make(20).SerializeAsString();
  message_footprint f;
  const std::size_t whole = estimate<Everything>(f, bytes);
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_LE(estimate<Everything>(f, bytes.substr(0, n)), whole) << n;
}

TEST_P(footprint_of, LookingAgainAllocatesNothing) {
  const std::string bytes = make(1'000).SerializeAsString();
  message_footprint f;
  const Everything empty;
  const auto look = [&] { return f.estimate(protobuf_codec, &empty, as_bytes(bytes), no_end); };
  const std::size_t first = look();
  const std::size_t before = test::allocation_count;
  EXPECT_EQ(look(), first);
  EXPECT_EQ(test::allocation_count, before);
}

// For every input that protobuf accepts as a message, the message does not hold far more memory than was
// predicted.
TEST(message_footprint, IsNotDeceivedByAlteredBytes) {
  std::mt19937 random(1);
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  message_footprint f;
  int parsed = 0;
  testing::internal::CaptureStderr();  // protobuf writes a line for each text that is not UTF-8
  for (int round = 0; round < 20'000; ++round) {
    Everything m;
    for (std::size_t n = 1 + below(20); n > 0; --n)
      shapes[below(std::size(shapes))].add(m, static_cast<int>(n));
    std::string bytes = m.SerializeAsString();
    for (std::size_t n = below(4); n > 0; --n)
      bytes[below(bytes.size())] = static_cast<char>(random() & 0x7f);
    Everything decoded;
    const std::size_t estimated = estimate<Everything>(f, bytes);
    static_cast<void>(estimate<footprints::lite::Points>(f, bytes));
    if (!decoded.ParseFromString(bytes)) continue;
    ++parsed;
    EXPECT_LE(decoded.SpaceUsedLong(), estimated * 5 / 2) << "round " << round;
  }
  testing::internal::GetCapturedStderr();
  EXPECT_GT(parsed, 5'000);
}

TEST(message_footprint, StopsWhereItHasSeenEnough) {
  const std::string bytes = times(100'000, std::string("\x4a\0", 2));  // empties
  message_footprint f;
  EXPECT_EQ(estimate<Everything>(f, bytes, 5'000), 5'000u);
}

TEST(message_footprint, FollowsNoDeeperThanProtobufParses) {
  std::string bytes;
  for (int i = 0; i < 2'000; ++i) {
    std::string outer = "\x0a";  // Node::left
    for (std::size_t n = bytes.size();; n >>= 7) {
      outer.push_back(static_cast<char>(n >= 0x80 ? n | 0x80 : n));
      if (n < 0x80) break;
    }
    bytes.insert(0, outer);
  }
  footprints::Node node;
  EXPECT_FALSE(node.ParseFromString(bytes));
  EXPECT_LT(estimate<footprints::Node>(bytes), 102 * sizeof(footprints::Node));
  EXPECT_GT(estimate<footprints::lite::Points>(bytes), 0u);
}

TEST(message_footprint, SeesUnknownFieldsOfEachKindAndWithinGroups) {
  const std::string kinds[] = {"\xb8\x3e\x01",     "\xb9\x3e\1\2\3\4\5\6\7\x08",
                               "\xbd\x3e\1\2\3\4", std::string("\xba\x3e\0", 3),
                               "\xbb\x3e\xbc\x3e", "\xbb\x3e\xb8\x3e\x01\xbb\x3e\xbc\x3e\xbc\x3e"};
  for (const std::string& kind : kinds) {
    const std::string bytes = times(1'000, kind);
    footprints::Nothing decoded;
    ASSERT_TRUE(decoded.ParseFromString(bytes));
    const double used = static_cast<double>(decoded.SpaceUsedLong());
    const auto estimated = static_cast<double>(estimate<footprints::Nothing>(bytes));
    EXPECT_GE(estimated, used / 2) << kind.size();
    EXPECT_LE(estimated, used * 1.6) << kind.size();
  }
}

TEST(message_footprint, SeesGroupsAndExtensions) {
  footprints::proto2::Grouped m;
  for (int i = 0; i < 1'000; ++i) {
    m.add_item()->set_x(i);
    m.AddExtension(footprints::proto2::extras)->set_text("some text");
  }
  const double used = static_cast<double>(m.SpaceUsedLong());
  const auto estimated = static_cast<double>(estimate<footprints::proto2::Grouped>(m.SerializeAsString()));
  EXPECT_GE(estimated, used / 2);
  EXPECT_LE(estimated, used * 1.25);
}

TEST(message_footprint, GuessesWithoutADescriptorWhatIsASubmessage) {
  footprints::lite::Points m;
  for (int i = 1; i <= 1'000; ++i) {
    footprints::lite::Points& inner = *m.mutable_inner();
    inner.add_points()->set_x(i);
    m.add_points()->set_y(i);
    m.add_names("a name that is no message");
  }
  const std::string bytes = m.SerializeAsString();
  const std::int64_t before = test::allocated_bytes;
  footprints::lite::Points decoded;
  ASSERT_TRUE(decoded.ParseFromString(bytes));
  const auto taken = static_cast<double>(test::allocated_bytes - before);
  const auto estimated = static_cast<double>(estimate<footprints::lite::Points>(bytes));
  EXPECT_GE(estimated, taken / 2);
  EXPECT_LE(estimated, taken * 1.5);
  EXPECT_LT(estimated, static_cast<double>(message_footprint::ratio_max * bytes.size()));
  const std::string empties = times(1'000, std::string("\x0a\0", 2));
  EXPECT_GT(estimate<footprints::lite::Points>(empties), message_footprint::ratio_max * empties.size());
}

TEST(message_footprint, GuessesAtLeastTheBytesOfWhatMayBeAText) {
  footprints::lite::Points m;
  m.add_names(std::string(10'000, 'x'));  // which would be a message of 5,000 numbers
  EXPECT_GE(estimate<footprints::lite::Points>(m.SerializeAsString()), 10'000u);
  EXPECT_LE(estimate<footprints::lite::Points>(m.SerializeAsString()), 11'000u);
}

// A part of it looks like a submessage but is not, which is detected only later.
TEST(message_footprint, GuessesTheSameWhereverItStops) {
  footprints::lite::Points m;
  for (int i = 1; i <= 20; ++i) {
    m.add_points()->set_x(i);
    m.mutable_inner()->add_names(std::string("\x0a\x00\x0a\x00\x0a\x00\x0f", 7));
    m.add_names("a name\nand another\n");
  }
  const std::string cut_group("\x0a\x04\x18\x33\xbb\x15\xfd\xd4", 8);
  message_footprint f;
  for (const std::string& bytes : {cut_group, m.SerializeAsString()}) {
    const std::size_t whole = estimate<footprints::lite::Points>(f, bytes);
    for (std::size_t enough = 0; enough < whole + 200; ++enough)
      EXPECT_EQ(estimate<footprints::lite::Points>(f, bytes, enough), std::min(whole, enough)) << enough;
  }
}

TEST(message_footprint, GuessesForDynamicMessages) {
  google::protobuf::DescriptorPool pool;
  google::protobuf::FileDescriptorProto file;
  Everything::descriptor()->file()->CopyTo(&file);
  ASSERT_TRUE(pool.BuildFile(file));
  google::protobuf::DynamicMessageFactory factory;
  const std::unique_ptr<google::protobuf::Message> m(
      factory.GetPrototype(pool.FindMessageTypeByName("footprints.Everything"))->New());
  const std::string empties = times(1'000, std::string("\x4a\0", 2));
  message_footprint f;
  EXPECT_GT(f.estimate(protobuf_codec, m.get(), as_bytes(empties), no_end),
            message_footprint::ratio_max * empties.size());
}

TEST(message_footprint, MeasuresADecodedMessageExactly) {
  Everything m;
  for (int i = 0; i < 1'000; ++i) m.add_rows()->set_name("a name");
  EXPECT_EQ(message_footprint::measure(protobuf_codec, &m, 1), m.SpaceUsedLong());
}

TEST(message_footprint, MeasuresTheArenaOfAMessageThatIsInOne) {
  google::protobuf::Arena arena;
  auto* const m = Everything::default_instance().New(&arena);
  for (int i = 0; i < 1'000; ++i) m->add_int64s(i);
  EXPECT_EQ(message_footprint::measure(protobuf_codec, m, 1), arena.SpaceAllocated());
}

TEST(message_footprint, BelievesTheEstimateWhereNothingMeasures) {
  const footprints::lite::Points lite;
  EXPECT_EQ(message_footprint::measure(codec_of<footprints::lite::Points>::get(),
                                       codec_of<footprints::lite::Points>::address(lite), 77),
            77u);
}

TEST(message_footprint, AsksTheCodecOfAMessageThatIsNotProtobufs) {
  codec own{message_kind::own, nullptr, nullptr, nullptr};
  message_footprint f;
  const std::string bytes(500, 'x');
  EXPECT_EQ(f.estimate(own, nullptr, as_bytes(bytes), no_end), 500u);
  EXPECT_EQ(message_footprint::measure(own, nullptr, 500), 500u);
  own.memory_bytes = [](const void*) { return std::size_t{12'345}; };
  EXPECT_EQ(message_footprint::measure(own, nullptr, 500), 12'345u);
}

}  // namespace
}  // namespace coracle::rpc::message_footprint_test
