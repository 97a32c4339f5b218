// The faults of coracle chaos: their texts, what a seed makes of them, and the frames and records that they
// concern.
#include "tools/chaos/fault.hpp"
#include "tools/chaos/fault_plan.hpp"
#include "tools/chaos/frame_cutter.hpp"
#include "tools/chaos/tls_record.hpp"
#include "tools/failure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools::chaos::chaos_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

std::string refusal_of(std::string_view text) {
  try {
    static_cast<void>(parse_fault(text, "--fault"));
  } catch (const usage_failure& why) {
    return why.what();
  }
  return {};
}

TEST(ChaosFault, HasAValueAndATime) {
  const fault delay = parse_fault("delay 20ms..200ms", "--fault");
  EXPECT_EQ(delay.kind, fault_kind::delay);
  EXPECT_EQ(delay.least, 20ms);
  EXPECT_EQ(delay.most, 200ms);
  EXPECT_EQ(parse_fault("delay 5ms", "--fault").most, 5ms);
  EXPECT_EQ(parse_fault("slow 1.5KB", "--fault").bytes, 1500u);
  EXPECT_EQ(parse_fault("corrupt 1MB", "--fault").bytes, 1'000'000u);
  EXPECT_EQ(parse_fault("truncate 2KB", "--fault").bytes, 2000u);
  EXPECT_EQ(parse_fault("alert 10%", "--fault").chance, 0.1);
  EXPECT_EQ(parse_fault("certificate 100%", "--fault").chance, 1);
  EXPECT_EQ(parse_fault("  reset   5% ", "--fault").chance, 0.05);
  const fault close = parse_fault("close 30s from 10s to 1m", "--fault");
  EXPECT_EQ(close.mean, 30s);
  EXPECT_FALSE(close.is_active(9999ms));
  EXPECT_TRUE(close.is_active(10s));
  EXPECT_TRUE(close.is_active(59s));
  EXPECT_FALSE(close.is_active(60s));
}

TEST(ChaosFault, IsRefusedWithItsForm) {
  EXPECT_THAT(refusal_of("lose 5%"), HasSubstr("begins with none of delay, slow, refuse"));
  EXPECT_THAT(refusal_of(""), HasSubstr("begins with none of"));
  for (const char* wrong : {"reset", "reset 5", "reset 101%", "reset -1%", "reset nan%", "slow 5", "slow 0KB",
                            "slow 9e99GB", "delay 9ms..5ms", "close 1s at 2s", "close 1s 2s"})
    EXPECT_THAT(refusal_of(wrong), HasSubstr("is not of the form '")) << wrong;
  EXPECT_THAT(refusal_of("close often"), HasSubstr("--fault is a time such as 5s"));
  EXPECT_THAT(refusal_of("close 5s from"), HasSubstr("is a time such as"));
  EXPECT_THAT(refusal_of("close 5s from 2s to 2s"), HasSubstr("ends before it begins"));
}

TEST(ChaosFault, IsALineOfAScript) {
  const auto all = parse_script("# a bad day\n\ndelay 1ms\r\n  close 5s\nreset 1%", "day");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].kind, fault_kind::close);
  try {
    static_cast<void>(parse_script("delay 1ms\n\nnothing", "day"));
    FAIL();
  } catch (const usage_failure& why) {
    EXPECT_THAT(why.what(), HasSubstr("day, line 3: 'nothing'"));
  }
}

std::vector<fault> faults_of(std::string_view script) { return parse_script(script, "test"); }

// How many bytes pass to the client of those that come in pieces of this size.
std::uint64_t end_of(fault_plan& plan, std::size_t piece) {
  for (std::uint64_t position = 0;; position += piece)
    if (const auto passing = plan.truncate(direction::to_client, position, piece, 0s))
      return position + *passing;
}

TEST(ChaosPlan, IsThatOfItsSeed) {
  const auto faults = faults_of(
      "close 30s\nreset 30%\ncorrupt 1KB\ndelay 1ms..9ms\nalert 50%\ncertificate 50%\ntruncate 1MB");
  const auto told = [&](std::uint64_t seed, std::uint64_t connection, std::size_t piece) {
    fault_plan plan(faults, seed, connection, 0s);
    std::string text = std::to_string(plan.time_of(fault_kind::close)->count());
    for (std::uint32_t stream = 1; stream < 20; stream += 2) text += plan.resets(stream, 1s) ? " r" : " -";
    text += " " + std::to_string(plan.delay_of(direction::to_client, 77, 1s).count());
    text.append(plan.alerts() ? " alert" : "").append(plan.impersonates() ? " certificate" : "");
    text += " " + std::to_string(end_of(plan, piece));
    std::string bytes;
    for (std::size_t left = 10'000; left > 0; left -= std::min(left, piece)) {
      std::string part(std::min(left, piece), 'a');
      plan.corrupt(direction::to_server, 10'000 - left, part, 1s);
      bytes += part;
    }
    return text + bytes;
  };
  EXPECT_EQ(told(1, 1, 1000), told(1, 1, 1000));
  EXPECT_EQ(told(1, 1, 1000), told(1, 1, 17)) << "however the bytes arrive";
  EXPECT_NE(told(1, 1, 1000), told(1, 2, 1000));
  EXPECT_NE(told(1, 1, 1000), told(2, 1, 1000));
}

// Means over 10,000 connections, within five standard deviations.
TEST(ChaosPlan, HasTheChancesAndTimesThatAreAskedFor) {
  const auto faults = faults_of("close 30s\nreset 30%\nrefuse 20%\ndelay 10ms..30ms");
  constexpr int n = 10'000;
  double seconds = 0, milliseconds = 0;
  int resets = 0, refused = 0;
  for (int i = 0; i < n; ++i) {
    const fault_plan plan(faults, 7, static_cast<std::uint64_t>(i), 5s);
    seconds += std::chrono::duration<double>(*plan.time_of(fault_kind::close) - 5s).count();
    milliseconds +=
        std::chrono::duration<double, std::milli>(plan.delay_of(direction::to_client, 0, 5s)).count();
    resets += plan.resets(1, 5s);
    refused += plan.refuses();
  }
  EXPECT_NEAR(seconds / n, 30, 5 * 30.0 / 100);
  EXPECT_NEAR(milliseconds / n, 20, 5 * 5.8 / 100);
  EXPECT_NEAR(resets, 0.3 * n, 5 * 46);
  EXPECT_NEAR(refused, 0.2 * n, 5 * 40);
}

TEST(ChaosPlan, HasNoFaultOutsideItsTime) {
  const auto faults =
      faults_of("close 1ms from 10s to 20s\nreset 100% from 10s to 20s\nslow 1KB from 10s to 20s");
  const auto at = [&](duration began) { return fault_plan(faults, 1, 1, began).time_of(fault_kind::close); };
  ASSERT_TRUE(at(0s));
  EXPECT_GE(*at(0s), 10s) << "of a connection that was there before";
  EXPECT_LT(*at(0s), 11s);
  EXPECT_FALSE(at(20s));
  const fault_plan plan(faults, 1, 1, 0s);
  EXPECT_FALSE(plan.resets(1, 9s));
  EXPECT_TRUE(plan.resets(1, 10s));
  EXPECT_FALSE(plan.resets(1, 20s));
  EXPECT_EQ(plan.bytes_per_second(9s), 0u);
  EXPECT_EQ(plan.bytes_per_second(15s), 1000u);
}

TEST(ChaosPlan, ChangesEachByteThatItChooses) {
  const auto faults = faults_of("corrupt 1B");
  fault_plan plan(faults, 1, 1, 0s);
  std::string bytes(1000, 'a');
  const int changed = plan.corrupt(direction::to_client, 0, bytes, 0s);
  EXPECT_EQ(changed, 1000 - std::count(bytes.begin(), bytes.end(), 'a'));
  EXPECT_GT(changed, 400);
}

TEST(ChaosPlan, EndsAConnectionAfterBytesThatAreAskedFor) {
  const auto faults = faults_of("truncate 40KB");
  constexpr int n = 10'000;
  double bytes = 0;
  for (int i = 0; i < n; ++i) {
    fault_plan plan(faults, 7, static_cast<std::uint64_t>(i), 0s);
    bytes += static_cast<double>(end_of(plan, 1000));
  }
  EXPECT_NEAR(bytes / n, 40'000, 5 * 40'000.0 / 100);
}

TEST(ChaosPlan, LetsNothingPassAfterTheEnd) {
  const auto faults = faults_of("truncate 1KB");
  fault_plan plan(faults, 1, 1, 0s);
  const std::uint64_t end = end_of(plan, 100);
  EXPECT_EQ(plan.truncate(direction::to_client, end, 100, 0s), 0u);
  EXPECT_EQ(plan.truncate(direction::to_client, end + 100, 100, 0s), 0u);
}

TEST(ChaosPlan, EndsNoConnectionOutsideItsTime) {
  const auto faults = faults_of("truncate 10B from 10s");
  fault_plan plan(faults, 1, 1, 0s);
  EXPECT_FALSE(plan.truncate(direction::to_client, 0, 1000, 9s));
  EXPECT_TRUE(plan.truncate(direction::to_client, 1000, 1000, 10s)) << "at a byte that comes then";
}

TEST(ChaosRecords, AClientHelloIsKnownByItsFirstBytes) {
  const std::string_view hello("\x16\x03\x01\x02\x00\x01\x00", 7);
  for (std::size_t n = 0; n < 6; ++n) EXPECT_EQ(begins_handshake(hello.substr(0, n)), std::nullopt) << n;
  EXPECT_EQ(begins_handshake(hello.substr(0, 6)), true);
  EXPECT_EQ(begins_handshake(hello), true);
  EXPECT_EQ(begins_handshake("PRI * HTTP/2.0"), false);
  EXPECT_EQ(begins_handshake("P"), false);
  EXPECT_EQ(begins_handshake("\x16P"), false);
  const std::string_view finished("\x16\x03\x01\x00\x28\x14", 6);
  EXPECT_EQ(begins_handshake(finished), false) << "a message of a handshake, but not the first";
}

// The frames of `bytes` when they come in pieces of n: type, stream, and where others may stand.
std::string cut_in(std::string_view bytes, std::size_t n) {
  frame_cutter cutter;
  std::string told, passed;
  for (std::string_view rest = bytes; !rest.empty();) {
    std::string_view piece = rest.substr(0, n);
    rest.remove_prefix(piece.size());
    for (frame_cutter::part p; cutter.take(piece, p);) {
      passed.append(p.header).append(p.payload);
      if (!p.ends) continue;
      told += std::to_string(cutter.length()) + "@" + std::to_string(cutter.stream());
      told += cutter.is_between() ? "; " : ", ";
    }
  }
  passed += cutter.give_back();
  EXPECT_EQ(passed, bytes);
  return told;
}

TEST(ChaosFrames, AreFoundHoweverTheyArrive) {
  std::string open_block = frame_of(frame_type::headers, 5, "abc");  // without END_HEADERS
  std::string last = frame_of(frame_type::continuation, 5, "d");
  last[4] = 4;
  const std::string bytes = frame_of(frame_type::data, 1, std::string(300, 'x')) +
                            frame_of(frame_type::data, 3, "") + open_block + last +
                            frame_of(frame_type::goaway, 0, "12345678") + std::string(4, '\0');
  const std::string expected = "300@1; 0@3; 3@5, 1@5; 8@0; ";
  for (const std::size_t n : {1, 2, 8, 9, 10, 100, 10'000}) EXPECT_EQ(cut_in(bytes, n), expected) << n;
}

}  // namespace
}  // namespace coracle::tools::chaos::chaos_test
