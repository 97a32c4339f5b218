#include "telemetry/profiles/encode_profile.hpp"

#include "rpc/proto_wire.hpp"
#include "telemetry/profiles/cpu_profile.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::telemetry_internal::encode_profile_test {
namespace {

using namespace std::chrono_literals;
using runtime_internal::code_mapping;
using runtime_internal::cpu_samples;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// The fields of a message by their numbers, in their order.
struct fields {
  explicit fields(std::string_view message) {
    rpc::proto_reader r(message);
    while (r.next()) {
      texts[r.field()].emplace_back(r.text());
      numbers[r.field()] = r.number();
    }
    EXPECT_TRUE(r.ok());
  }
  [[nodiscard]] std::uint64_t number(std::uint32_t field) const {
    const auto found = numbers.find(field);
    return found == numbers.end() ? 0 : found->second;
  }
  std::map<std::uint32_t, std::vector<std::string>> texts;
  std::map<std::uint32_t, std::uint64_t> numbers;
};

std::vector<std::uint64_t> unpacked(std::string_view varints) {
  std::vector<std::uint64_t> all;
  std::uint64_t n = 0;
  int shift = 0;
  for (const char c : varints) {
    n |= (static_cast<std::uint64_t>(c) & 0x7f) << shift;
    shift += 7;
    if ((c & 0x80) != 0) continue;
    all.push_back(n);
    n = 0;
    shift = 0;
  }
  return all;
}

struct decoded {
  explicit decoded(const std::string& message) : profile(message), strings(profile.texts[6]) {}
  [[nodiscard]] std::string text(std::uint64_t index) const {
    return index < strings.size() ? strings[index] : "no such text";
  }
  [[nodiscard]] std::string value_type(const std::string& message) const {
    const fields of(message);
    return text(of.number(1)) + "/" + text(of.number(2));
  }
  fields profile;
  std::vector<std::string> strings;
};

const std::vector<code_mapping> mappings = {{0x1000, 0x2000, 0x400, "/bin/program", "abcd"},
                                            {0x7000, 0x8000, 0, "/lib/libfoo.so", ""}};

std::string symbol_of(std::uintptr_t address) { return address == 0x7010 ? "_Z3foov" : ""; }

decoded encoded(const cpu_samples& samples) {
  const profile_times times{wall_time(std::chrono::seconds(1'700'000'000)), 2s};
  return decoded(encode_profile(content_of(samples, times), mappings, &symbol_of));
}

TEST(encode_profile, AProfileHasItsTypesTimesAndPeriod) {
  const decoded all = encoded({});
  EXPECT_EQ(all.strings.at(0), "") << "the first text is empty, as the format demands";
  ASSERT_THAT(all.profile.texts.at(1), SizeIs(2));
  EXPECT_EQ(all.value_type(all.profile.texts.at(1)[0]), "samples/count");
  EXPECT_EQ(all.value_type(all.profile.texts.at(1)[1]), "cpu/nanoseconds");
  EXPECT_EQ(all.profile.number(9), 1'700'000'000'000'000'000U);
  EXPECT_EQ(all.profile.number(10), 2'000'000'000U);
  EXPECT_EQ(all.value_type(all.profile.texts.at(11)[0]), "cpu/nanoseconds");
  EXPECT_EQ(all.profile.number(12), 10'000'000U);
  EXPECT_EQ(all.text(all.profile.number(14)), "cpu");
  EXPECT_FALSE(all.profile.texts.contains(2)) << "no samples";
  EXPECT_FALSE(all.profile.texts.contains(13)) << "no comment";
}

TEST(encode_profile, MappingsHaveTheirFilesAndTheProgramIsTheFirst) {
  const decoded all = encoded({});
  ASSERT_THAT(all.profile.texts.at(3), SizeIs(2));
  const fields program(all.profile.texts.at(3)[0]);
  EXPECT_EQ(program.number(1), 1U);
  EXPECT_EQ(program.number(2), 0x1000U);
  EXPECT_EQ(program.number(3), 0x2000U);
  EXPECT_EQ(program.number(4), 0x400U);
  EXPECT_EQ(all.text(program.number(5)), "/bin/program");
  EXPECT_EQ(all.text(program.number(6)), "abcd");
}

TEST(encode_profile, ASampleHasItsStackItsValuesAndItsThread) {
  cpu_samples samples;
  samples.counts[{"loop", {0x7010, 0x1234}}] = 3;
  const decoded all = encoded(samples);
  ASSERT_THAT(all.profile.texts.at(2), SizeIs(1));
  const fields sample(all.profile.texts.at(2)[0]);
  EXPECT_THAT(unpacked(sample.texts.at(1)[0]), ElementsAre(1, 2));
  EXPECT_THAT(unpacked(sample.texts.at(2)[0]), ElementsAre(3, 30'000'000));
  const fields label(sample.texts.at(3)[0]);
  EXPECT_EQ(all.text(label.number(1)), "thread");
  EXPECT_EQ(all.text(label.number(2)), "loop");

  ASSERT_THAT(all.profile.texts.at(4), SizeIs(2));
  fields leaf(all.profile.texts.at(4)[0]);
  EXPECT_EQ(leaf.number(1), 1U);
  EXPECT_EQ(leaf.number(2), 2U) << "of libfoo.so";
  EXPECT_EQ(leaf.number(3), 0x7010U);
  EXPECT_EQ(fields(leaf.texts.at(4)[0]).number(1), 1U);
  const fields caller(all.profile.texts.at(4)[1]);
  EXPECT_EQ(caller.number(2), 1U) << "of the program";
  EXPECT_EQ(caller.number(3), 0x1234U);

  ASSERT_THAT(all.profile.texts.at(5), SizeIs(2));
  const fields function(all.profile.texts.at(5)[0]);
  EXPECT_EQ(function.number(1), fields(leaf.texts.at(4)[0]).number(1));
  EXPECT_EQ(all.text(function.number(2)), "foo()");
  EXPECT_EQ(all.text(function.number(3)), "_Z3foov");
  const fields place(all.profile.texts.at(5)[1]);
  EXPECT_EQ(place.number(1), fields(caller.texts.at(4)[0]).number(1));
  EXPECT_EQ(all.text(place.number(2)), "program+0x634");
}

TEST(encode_profile, ALocationIsThereOnce) {
  cpu_samples samples;
  samples.counts[{"a", {0x1100, 0x1234}}] = 1;
  samples.counts[{"b", {0x1100, 0x1234}}] = 1;
  samples.counts[{"b", {0x9999, 0x1234}}] = 1;
  const decoded all = encoded(samples);
  EXPECT_THAT(all.profile.texts.at(2), SizeIs(3));
  ASSERT_THAT(all.profile.texts.at(4), SizeIs(3));
  EXPECT_EQ(fields(all.profile.texts.at(4)[2]).number(2), 0U) << "an address without a mapping";
}

TEST(encode_profile, SamplesThatAreLeftOutAreAComment) {
  cpu_samples samples;
  samples.dropped = 7;
  const decoded all = encoded(samples);
  EXPECT_EQ(all.text(all.profile.number(13)), "7 samples exceeded the limits and are left out");
}

TEST(encode_profile, TextsAreUtf8) {
  cpu_samples samples;
  samples.counts[{"\xff thread", {0x1100}}] = 1;
  EXPECT_THAT(encoded(samples).strings, Contains("\xef\xbf\xbd thread"));
}

}  // namespace
}  // namespace coracle::telemetry_internal::encode_profile_test
