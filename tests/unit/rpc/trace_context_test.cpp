#include "coracle/rpc/trace_context.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::trace_context_test {
namespace {

constexpr const char* known = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(trace_context, ATextIsReadAndWrittenBack) {
  const auto t = trace_context::parse(known, "a=1");
  ASSERT_TRUE(t);
  EXPECT_EQ(t->trace()[0], 0x4b);
  EXPECT_EQ(t->span()[7], 0xb7);
  EXPECT_TRUE(t->sampled());
  EXPECT_EQ(t->state(), "a=1");
  EXPECT_EQ(t->traceparent(), known);
}

TEST(trace_context, OfALaterVersionTheKnownPartIsRead) {
  const std::string later = "cc" + std::string(known).substr(2) + "-what-comes";
  ASSERT_TRUE(trace_context::parse(later));
  EXPECT_EQ(trace_context::parse(later)->traceparent(), known);
}

TEST(trace_context, MalformedTextsAreNone) {
  const std::string good = known;
  const std::string none(16, '0');
  for (const std::string& bad :
       {std::string(), good.substr(1), good + "-x", "ff" + good.substr(2),
        "00-" + none + none + good.substr(35), good.substr(0, 36) + none + "-01", good.substr(0, 52) + "_01",
        good.substr(0, 53) + "0g", std::string("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"),
        "cc" + good.substr(2) + ".x"})
    EXPECT_FALSE(trace_context::parse(bad)) << bad;
}

TEST(trace_context, TheBinaryFormIsReadAndWrittenBack) {
  const auto t = trace_context::parse(known);
  const std::string bytes = t->binary();
  ASSERT_EQ(bytes.size(), 29u);
  const auto back = trace_context::parse_binary(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->traceparent(), known);
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(trace_context::parse_binary(bytes.substr(0, n)));
  for (const std::size_t at : {0u, 1u, 18u, 27u}) {
    std::string bad = bytes;
    bad[at] = '\x7f';
    EXPECT_FALSE(trace_context::parse_binary(bad)) << at;
  }
}

TEST(trace_context, AStateAboveTheLimitIsDropped) {
  EXPECT_EQ(trace_context::parse(known, std::string(trace_context::state_bytes_max, 'a'))->state().size(),
            trace_context::state_bytes_max);
  EXPECT_EQ(trace_context::parse(known, std::string(trace_context::state_bytes_max + 1, 'a'))->state(), "");
}

}  // namespace
}  // namespace coracle::trace_context_test
