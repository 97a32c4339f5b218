// Bytes that no task reads: the kernel keeps them, the sender waits, and the loop sleeps.
#include "unit/runtime/backend_under_test.hpp"

#include <algorithm>

namespace coracle::test::backend_buffers_test {
namespace {

class backend_buffers : public backend_test {
 protected:
  // What the backend does in the given time when there is no work.
  runtime_internal::counters spent_idly(duration time) {
    const runtime_internal::counters before = b().stats();
    const time_point end = b().now() + time;
    while (b().now() < end) b().turn(end);
    runtime_internal::counters spent = b().stats();
    spent.turns -= before.turns;
    spent.system_calls -= before.system_calls;
    spent.submissions -= before.submissions;
    return spent;
  }
  // Sends until the kernel accepts no more; returns the number of bytes accepted.
  static std::size_t fill(int to) {
    const std::string chunk(64 * 1024, 'f');
    std::size_t taken = 0;
    for (ssize_t n = 0; n >= 0; taken += static_cast<std::size_t>(std::max<ssize_t>(n, 0)))
      n = ::send(to, chunk.data(), chunk.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return taken;
  }
  void stop(receiver_under_test& r) {
    b().stop_receive(r);
    until([&] { return r.end.has_value(); });
  }
};

// 2 MiB of buffers exist: more than that is ready at once.
TEST_P(backend_buffers, MoreBytesThanBuffersComeInAFewTurnsAndWithoutSpinning) {
  constexpr std::size_t count = 48;
  std::vector<std::array<int, 2>> pairs;
  std::vector<std::unique_ptr<receiver_under_test>> receivers;
  std::size_t sent = 0;
  for (std::size_t i = 0; i < count; ++i) {
    pairs.push_back(pair());
    sent += fill(pairs.back()[1]);
  }
  ASSERT_GT(sent, 4u << 20);
  const runtime_internal::counters before = b().stats();
  for (const auto& p : pairs) {
    receivers.push_back(std::make_unique<receiver_under_test>());
    b().start_receive(p[0], *receivers.back());
  }
  const auto received = [&] {
    std::size_t n = 0;
    for (const auto& r : receivers) n += r->text.size();
    return n;
  };
  until([&] { return received() == sent; });
  EXPECT_LT(b().stats().turns - before.turns, 200u);
  if (GetParam() == shape::io_uring) {
    EXPECT_GT(b().stats().submissions - before.submissions, count) << "some had to begin anew: ENOBUFS";
  }
  turn_idly(b());
  EXPECT_LE(spent_idly(std::chrono::milliseconds(100)).turns, 3u);
  for (const auto& r : receivers) stop(*r);
  for (const auto& p : pairs) {
    b().close(p[0]);
    ::close(p[1]);
  }
}

TEST_P(backend_buffers, APausedReceiverStallsItsSenderAndLetsTheLoopSleep) {
  const auto s = pair();
  receiver_under_test r;
  b().start_receive(s[0], r);
  turn_idly(b());
  b().pause_receive(r);
  r.paused = true;
  std::size_t sent = 0;
  // Runs until a whole round of turns has made no room for the sender.
  for (std::size_t more = 1; more > 0; sent += more) {
    more = fill(s[1]);
    turn_idly(b());
  }
  EXPECT_LT(sent, 4u << 20);
  const runtime_internal::counters spent = spent_idly(std::chrono::milliseconds(100));
  EXPECT_LE(spent.turns, 3u);
  EXPECT_LE(spent.system_calls, 3u);
  EXPECT_EQ(spent.submissions, 0u);
  EXPECT_EQ(fill(s[1]), 0u) << "still no room";
  r.paused = false;
  b().resume_receive(r);
  until([&] { return r.text.size() == sent; });
  stop(r);
  b().close(s[0]);
  ::close(s[1]);
}

INSTANTIATE_TEST_SUITE_P(Kernel, backend_buffers, every_shape, shape_name);

}  // namespace
}  // namespace coracle::test::backend_buffers_test
