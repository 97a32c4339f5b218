#include "unit/runtime/backend_under_test.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::test::backend_sources_test {
namespace {

class backend_sources : public backend_test {
 protected:
  void stop(receiver_under_test& r) {
    b().stop_receive(r);
    until([&] { return r.end.has_value(); });
  }
  static void put(int fd, std::string_view text) {
    ASSERT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // A listener on loopback and a blocking client that connects to it.
  int listen() {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    runtime_internal::raw_address a;
    a.size = sizeof in;
    std::memcpy(a.bytes, &in, sizeof in);
    const auto listener = b().open_listener(a, {});
    EXPECT_GE(listener, 0);
    EXPECT_EQ(b().local_address(static_cast<int>(listener), at_), 0);
    return static_cast<int>(listener);
  }
  int dial() {
    const int c = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    std::memcpy(&to, at_.bytes, sizeof to);
    EXPECT_EQ(::connect(c, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    return c;
  }
  runtime_internal::raw_address at_;
};

TEST_P(backend_sources, AReceiverGetsWhatComesAndThenTheHalfClose) {
  const auto s = pair();
  receiver_under_test r;
  b().start_receive(s[0], r);
  put(s[1], "hello ");
  until([&] { return r.text == "hello "; });
  put(s[1], "world");
  ::shutdown(s[1], SHUT_WR);
  until([&] { return r.end.has_value(); });
  EXPECT_EQ(r.text, "hello world");
  EXPECT_EQ(*r.end, 0);
  EXPECT_EQ(r.state, nullptr);
  // The other direction is still open.
  const runtime_internal::operation::piece p{"answer", 6};
  operation_under_test op(runtime_internal::operation::kind::send, s[0]);
  op.pieces = &p;
  op.piece_count = 1;
  b().submit(op);
  until([&] { return op.result.has_value(); });
  EXPECT_EQ(*op.result, 6);
  b().close(s[0]);
  ::close(s[1]);
}

TEST_P(backend_sources, AMegabyteComesInOrder) {
  const auto s = pair(0);
  std::string text(3 << 20, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 + (i >> 12));
  receiver_under_test r;
  b().start_receive(s[0], r);
  std::thread writer([&] {
    std::string_view left = text;
    while (!left.empty()) {
      const ssize_t n = ::send(s[1], left.data(), left.size(), MSG_NOSIGNAL);
      if (n <= 0) break;
      left.remove_prefix(static_cast<std::size_t>(n));
    }
    ::shutdown(s[1], SHUT_WR);
  });
  until([&] { return r.end.has_value(); });
  writer.join();
  EXPECT_EQ(*r.end, 0);
  EXPECT_TRUE(r.text == text);
  b().close(s[0]);
  ::close(s[1]);
}

// The first pause comes while bytes flow: no byte may be lost, duplicated or delivered meanwhile.
TEST_P(backend_sources, PausingAtEveryChunkLosesNothing) {
  const auto s = pair(0);
  std::string text(2 << 20, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 13 + (i >> 11));
  receiver_under_test r;
  r.on_received = [&] {
    b().pause_receive(r);
    r.paused = true;
  };
  b().start_receive(s[0], r);
  std::thread writer([&] {
    std::string_view left = text;
    while (!left.empty()) {
      const ssize_t n = ::send(s[1], left.data(), left.size(), MSG_NOSIGNAL);
      if (n <= 0) break;
      left.remove_prefix(static_cast<std::size_t>(n));
    }
    ::close(s[1]);
  });
  const time_point give_up = b().now() + std::chrono::seconds(20);
  for (int i = 0; !r.end; ++i) {
    ASSERT_LT(b().now(), give_up);
    if (r.paused && i % 3 == 0) {
      r.paused = false;
      b().resume_receive(r);
    }
    b().turn(b().now() + std::chrono::milliseconds(1));
  }
  writer.join();
  EXPECT_EQ(*r.end, 0);
  EXPECT_TRUE(r.text == text);
  b().close(s[0]);
}

TEST_P(backend_sources, APauseHoldsBackBytesAndTheEnd) {
  const auto s = pair();
  receiver_under_test r;
  b().start_receive(s[0], r);
  turn_idly(b());
  b().pause_receive(r);
  r.paused = true;
  put(s[1], "held");
  turn_idly(b());
  ::close(s[1]);
  turn_idly(b());
  EXPECT_EQ(r.text, "");
  EXPECT_FALSE(r.end);
  r.paused = false;
  b().resume_receive(r);
  EXPECT_EQ(r.text, "") << "not inside resume_receive()";
  until([&] { return r.end.has_value(); });
  EXPECT_EQ(r.text, "held");
  EXPECT_EQ(*r.end, 0);
  b().close(s[0]);
}

// Bytes that wait arrive before the pause, during it, or both; the peer ends its side, or resets.
TEST_P(backend_sources, APauseTellsTheEndOfThePeerOnRequest) {
  const std::string large(200'000, 'z');
  for (const bool watched : {true, false}) {
    for (const std::string& text : {std::string(), std::string("held"), large}) {
      for (const bool before : {true, false}) {
        const auto s = pair(SOCK_NONBLOCK);
        receiver_under_test r;
        r.watches_hangup = watched;
        r.on_received = [&] {
          b().pause_receive(r);
          r.paused = true;
        };
        b().start_receive(s[0], r);
        if (before) put(s[1], "first");
        else r.on_received();
        until([&] { return r.paused; });
        std::string_view left = text;
        while (!left.empty()) {
          const ssize_t n = ::send(s[1], left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
          if (n <= 0) break;  // the kernel holds no more
          left.remove_prefix(static_cast<std::size_t>(n));
          turn_idly(b());
        }
        turn_idly(b());
        EXPECT_EQ(r.hangups, 0);
        ::shutdown(s[1], SHUT_WR);
        if (watched) until([&] { return r.hangups > 0; });
        else turn_idly(b());
        EXPECT_EQ(r.hangups > 0, watched);
        EXPECT_FALSE(r.end);
        r.on_received = nullptr;
        r.paused = false;
        b().resume_receive(r);
        until([&] { return r.end.has_value(); });
        EXPECT_EQ(*r.end, 0);
        EXPECT_EQ(r.text.size(), (before ? 5 : 0) + text.size() - left.size());
        b().close(s[0]);
        ::close(s[1]);
      }
    }
  }
}

TEST_P(backend_sources, AWatchForTheEndEndsWithThePauseOrTheSource) {
  for (const bool resumed : {true, false}) {
    const auto s = pair();
    receiver_under_test r;
    r.watches_hangup = true;
    b().start_receive(s[0], r);
    turn_idly(b());
    b().pause_receive(r);
    r.paused = true;
    put(s[1], "one");
    turn_idly(b());
    if (resumed) {
      r.paused = false;
      b().resume_receive(r);
      put(s[1], "two");
      until([&] { return r.text == "onetwo"; });
      b().pause_receive(r);  // again, while the first watch ends
      r.paused = true;
      put(s[1], "three");
      turn_idly(b());
      ::shutdown(s[1], SHUT_WR);
      until([&] { return r.hangups > 0; });
    }
    stop(r);
    EXPECT_EQ(r.hangups > 0, resumed);
    b().close(s[0]);
    ::close(s[1]);
  }
}

TEST_P(backend_sources, WhatIsHeldDuringAPauseIsKnown) {
  const auto s = pair();
  receiver_under_test r;
  b().start_receive(s[0], r);
  turn_idly(b());
  EXPECT_EQ(b().held_bytes(r), 0u);
  b().pause_receive(r);
  r.paused = true;
  const std::string text(30'000, 'h');
  put(s[1], text);
  turn_idly(b());
  int in_kernel = 0;
  ASSERT_EQ(::ioctl(s[0], FIONREAD, &in_kernel), 0);
  const std::size_t held = b().held_bytes(r);
  EXPECT_EQ(held + static_cast<std::size_t>(in_kernel), text.size());
  EXPECT_EQ(r.held_changes > 0, held > 0);
  r.held_changes = 0;
  r.paused = false;
  b().resume_receive(r);
  until([&] { return r.text.size() == text.size(); });
  EXPECT_EQ(b().held_bytes(r), 0u);
  EXPECT_EQ(r.held_changes, held > 0 ? 1 : 0);
  stop(r);
  EXPECT_EQ(b().held_bytes(r), 0u);
  b().close(s[0]);
  ::close(s[1]);
}

TEST_P(backend_sources, APauseBoundsWhatIsTakenFromTheKernel) {
  const auto s = pair(SOCK_NONBLOCK);
  receiver_under_test r;
  b().start_receive(s[0], r);
  turn_idly(b());
  b().pause_receive(r);
  r.paused = true;
  const std::string chunk(64 * 1024, 'z');
  std::size_t taken = 0;
  for (int i = 0; i < 1000; ++i) {
    const ssize_t n = ::send(s[1], chunk.data(), chunk.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) taken += static_cast<std::size_t>(n);
    b().turn(time_point::min());
  }
  EXPECT_LT(taken, 4u << 20) << "the sender must see the window close";
  r.paused = false;
  b().resume_receive(r);
  until([&] { return r.text.size() == taken; });
  stop(r);
  b().close(s[0]);
  ::close(s[1]);
}

TEST_P(backend_sources, StopEndsItOnceAndNotInsideTheCall) {
  const auto s = pair();
  receiver_under_test r;
  b().start_receive(s[0], r);
  turn_idly(b());
  b().stop_receive(r);
  EXPECT_FALSE(r.end);
  until([&] { return r.end.has_value(); });
  EXPECT_EQ(*r.end, -ECANCELED);
  turn_idly(b());
  b().close(s[0]);
  ::close(s[1]);
}

TEST_P(backend_sources, StopWorksInEveryState) {
  for (int state = 0; state < 5; ++state) {
    const auto s = pair();
    receiver_under_test r;
    b().start_receive(s[0], r);
    if (state >= 1) turn_idly(b());
    if (state >= 2) {
      b().pause_receive(r);
      r.paused = true;
    }
    if (state >= 3) {
      put(s[1], "unwanted");
      turn_idly(b());
    }
    if (state >= 4) {
      ::shutdown(s[1], SHUT_WR);
      turn_idly(b());
    }
    stop(r);
    EXPECT_EQ(*r.end, -ECANCELED) << state;
    EXPECT_EQ(r.text, "") << state;
    b().close(s[0]);
    ::close(s[1]);
  }
}

TEST_P(backend_sources, AReceiverMayStopInsideReceived) {
  const auto s = pair();
  receiver_under_test r;
  r.on_received = [&] { b().stop_receive(r); };
  b().start_receive(s[0], r);
  put(s[1], "one");
  until([&] { return r.end.has_value(); });
  EXPECT_EQ(*r.end, -ECANCELED);
  EXPECT_EQ(r.chunks, 1);
  b().close(s[0]);
  ::close(s[1]);
}

TEST_P(backend_sources, MoreReceiversThanBuffersAllGetTheirs) {
  std::vector<std::array<int, 2>> pairs;
  std::vector<std::unique_ptr<receiver_under_test>> all;
  for (int i = 0; i < 300; ++i) {
    pairs.push_back(pair());
    all.push_back(std::make_unique<receiver_under_test>());
    b().start_receive(pairs.back()[0], *all.back());
  }
  turn_idly(b());
  for (int round = 1; round <= 3; ++round) {
    for (const auto& p : pairs) put(p[1], "0123456789");
    until([&] {
      for (const auto& r : all)
        if (r->text.size() != 10u * static_cast<unsigned>(round)) return false;
      return true;
    });
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i]->text, "012345678901234567890123456789");
    stop(*all[i]);
    b().close(pairs[i][0]);
    ::close(pairs[i][1]);
  }
}

// The limit of a multishot receive; see docs/internals/fallbacks.md.
bool kernel_limits_receives() {
  utsname name{};
  int major = 0;
  int minor = 0;
  if (::uname(&name) != 0 || std::sscanf(name.release, "%d.%d", &major, &minor) != 2) return false;
  return std::pair(major, minor) >= std::pair(6, 17) && !runtime_internal::injected_faults().no_receive_limit;
}

TEST_P(backend_sources, ABulkSenderIsLittleAheadOfOthers) {
  const bool multishot = GetParam() != shape::epoll && GetParam() != shape::without_buffer_ring &&
                         GetParam() != shape::without_multishot;
  if (multishot && !kernel_limits_receives())
    GTEST_SKIP() << "before Linux 6.17 a receive goes on until the ring's buffers are full";
  const auto bulk = pair();
  const auto small = pair();
  // Requests more than is permitted; without CAP_NET_ADMIN the system's limit applies, which is less.
  const int room = 4 << 20;
  ::setsockopt(bulk[1], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
  const std::string much(1 << 16, 'x');
  const auto fill = [&] {
    while (::send(bulk[1], much.data(), much.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
    }
  };
  receiver_under_test ahead;
  receiver_under_test behind;
  std::size_t had = 0;
  ahead.on_received = [&] {
    if (had == 0) {
      had = ahead.text.size();
      put(small[1], "me, too");
    }
    fill();
  };
  b().start_receive(small[0], behind);
  turn_idly(b());
  b().start_receive(bulk[0], ahead);
  fill();
  until([&] { return !behind.text.empty(); });
  EXPECT_LE(ahead.text.size() - had, 512u * 1024);
  stop(ahead);
  stop(behind);
  for (const auto& p : {bulk, small}) {
    b().close(p[0]);
    ::close(p[1]);
  }
}

TEST_P(backend_sources, AReceiverOnADeadHandleEnds) {
  const auto s = pair();
  ::close(s[0]);
  receiver_under_test r;
  b().start_receive(s[0], r);
  until([&] { return r.end.has_value(); });
  EXPECT_EQ(*r.end, -EBADF);
  ::close(s[1]);
}

TEST_P(backend_sources, AnAcceptorTakesEveryConnection) {
  const int listener = listen();
  acceptor_under_test a;
  b().start_accept(listener, a);
  std::vector<int> clients;
  for (int i = 0; i < 50; ++i) clients.push_back(dial());
  until([&] { return a.connections.size() == 50; });
  EXPECT_TRUE(::fcntl(a.connections[0], F_GETFL) & O_NONBLOCK);
  EXPECT_TRUE(::fcntl(a.connections[0], F_GETFD) & FD_CLOEXEC);
  b().stop_accept(a);
  EXPECT_FALSE(a.end);
  until([&] { return a.end.has_value(); });
  EXPECT_EQ(*a.end, -ECANCELED);
  for (int c : clients) ::close(c);
  for (int c : a.connections) b().close(c);
  b().close(listener);
}

TEST_P(backend_sources, AnAcceptorMayStopInsideAccepted) {
  const int listener = listen();
  acceptor_under_test a;
  a.on_accepted = [&] { b().stop_accept(a); };
  b().start_accept(listener, a);
  const int client = dial();
  until([&] { return a.end.has_value(); });
  EXPECT_EQ(a.connections.size(), 1u);
  b().close(a.connections[0]);
  b().close(listener);
  ::close(client);
}

TEST_P(backend_sources, AcceptingOnWhatIsNoListenerEnds) {
  const auto s = pair();
  acceptor_under_test a;
  b().start_accept(s[0], a);
  until([&] { return a.end.has_value(); });
  EXPECT_LT(*a.end, 0);
  b().close(s[0]);
  ::close(s[1]);
}

TEST_P(backend_sources, RunningOutOfDescriptorsRestsAndRecovers) {
  const int listener = listen();
  acceptor_under_test a;
  turn_idly(b());
  std::vector<int> clients{dial(), dial(), dial()};
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = ::dup(0);
  ::close(lowest_free);
  const rlimit low{static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  b().start_accept(listener, a);  // now: io_uring notes the limit when an accept begins
  const auto turns = b().stats().turns;
  const time_point begin = b().now();
  while (b().now() < begin + std::chrono::milliseconds(500)) b().turn(begin + std::chrono::milliseconds(500));
  const auto spent = b().stats().turns - turns;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(a.connections.size(), 0u);
  EXPECT_FALSE(a.end);
  EXPECT_LT(spent, 40u) << "at most two turns a rest of 50 ms, and a few";
  EXPECT_EQ(std::count_if(log_.lines.begin(), log_.lines.end(),
                          [](const std::string& line) { return line.starts_with("cannot accept"); }),
            1);
  until([&] { return a.connections.size() == 3; });
  b().stop_accept(a);
  until([&] { return a.end.has_value(); });
  for (int c : clients) ::close(c);
  for (int c : a.connections) b().close(c);
  b().close(listener);
}

TEST_P(backend_sources, ThePollableDescriptorTellsOfBytesWakesAndDeadlines) {
  const auto readable = [](int fd, int timeout_ms) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    timeval t{timeout_ms / 1000, timeout_ms % 1000 * 1000};
    return ::select(fd + 1, &set, nullptr, nullptr, &t) > 0;
  };
  const auto s = pair();
  receiver_under_test r;
  b().start_receive(s[0], r);
  turn_idly(b());
  int fd = b().pollable(never);
  ASSERT_GE(fd, 0);
  while (readable(fd, 0)) b().turn(time_point::min()), fd = b().pollable(never);
  put(s[1], "ping");
  EXPECT_TRUE(readable(fd, 5000));
  until([&] { return r.text == "ping"; });
  fd = b().pollable(never);
  while (readable(fd, 0)) b().turn(time_point::min()), fd = b().pollable(never);
  b().wake();
  EXPECT_TRUE(readable(fd, 5000));
  turn_idly(b());
  fd = b().pollable(b().now() + std::chrono::milliseconds(10));
  EXPECT_TRUE(readable(fd, 5000));
  stop(r);
  b().close(s[0]);
  ::close(s[1]);
}

INSTANTIATE_TEST_SUITE_P(Kernel, backend_sources, every_shape, shape_name);

}  // namespace
}  // namespace coracle::test::backend_sources_test
