// limits::grown_window_bytes: how far receive windows grow, and when they do not (decision 0008).
#include "support/http2/frames.hpp"
#include "support/http2/transcript.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace coracle::http2::receive_window_growth_test {
namespace {

using namespace test;
using namespace test::frames;
using std::chrono_literals::operator""ms;

// A peer that uses its whole window, over a line with a round trip of 20 ms: 256 KiB per millisecond,
// acknowledged 20 ms later.
std::int64_t largest_window(const limits& l, bool withheld = false) {
  session s(role::server, l, [](session& at, const event& e) {
    if (e.type == event::kind::data) at.engine.consume(e.stream, e.data.size());
  });
  s.feed(std::string(client_preface) + settings());
  s.engine.withhold_credit(withheld);
  s.now += 20ms;
  s.feed(settings_ack());
  s.feed(request(1));
  std::int64_t largest = 0;
  int answer_in = -1;
  for (int ms = 0; ms < 1000; ++ms, s.now += 1ms) {
    for (int i = 0; i < 16 && s.engine.receive_window_bytes() >= (16 << 10); ++i)
      s.feed(data(1, std::string(16u << 10, 'x')));
    if (s.take_frames().find("PING") != std::string::npos) answer_in = 20;
    if (answer_in-- == 0) s.feed(ping("delay?!!", true));
    largest = std::max(largest, s.engine.receive_window_bytes());
  }
  EXPECT_FALSE(s.engine.failed());
  return largest;
}

TEST(Http2Limits, GrownWindowBytes) {
  limits l;
  EXPECT_GT(largest_window(l), 4 << 20);
  l.grown_window_bytes = 1u << 20;
  EXPECT_LE(largest_window(l), 1 << 20);
  EXPECT_GT(largest_window(l), 700 << 10);
  l.grown_window_bytes = 0;
  EXPECT_LE(largest_window(l), l.connection_window_bytes);
}

TEST(Http2Limits, WindowsDoNotGrowWhileCreditIsWithheld) {
  const limits l;
  EXPECT_LE(largest_window(l, true), l.connection_window_bytes);
}

}  // namespace
}  // namespace coracle::http2::receive_window_growth_test
