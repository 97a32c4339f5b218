#include "unit/runtime/backend_under_test.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace coracle::test::backend_operations_test {
namespace {

using kind = runtime_internal::operation::kind;

class backend_operations : public backend_test {};
// What a single operation does.
class epoll_operations : public backend_operations {};
class io_uring_operations : public backend_operations {};

runtime_internal::raw_address loopback() {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  runtime_internal::raw_address a;
  a.size = sizeof in;
  std::memcpy(a.bytes, &in, sizeof in);
  return a;
}

std::string pattern(std::size_t n) {
  std::string s(n, '\0');
  for (std::size_t i = 0; i < n; ++i) s[i] = static_cast<char>(i * 31 + (i >> 8));
  return s;
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    ASSERT_GT(n, 0);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::string read_all(int fd, std::size_t n) {
  std::string got;
  std::vector<char> chunk(70'000);
  while (got.size() < n) {
    const ssize_t r = ::recv(fd, chunk.data(), std::min(chunk.size(), n - got.size()), 0);
    if (r <= 0) break;
    got.append(chunk.data(), static_cast<std::size_t>(r));
  }
  return got;
}

TEST_P(backend_operations, NothingCompletesInsideSubmit) {
  const auto s = pair();
  write_all(s[1], "ready");
  std::array<std::uint8_t, 16> into{};
  operation_under_test op(kind::receive, s[0]);
  op.into = into;
  b().submit(op);
  EXPECT_FALSE(op.result);
  until([&] { return op.result.has_value(); });
  EXPECT_EQ(*op.result, 5);
  b().close(s[0]);
  ::close(s[1]);
}

TEST_P(backend_operations, AReceiveWaitsForBytesAndSeesTheEnd) {
  const auto s = pair();
  std::array<std::uint8_t, 16> into{};
  operation_under_test op(kind::receive, s[0]);
  op.into = into;
  b().submit(op);
  turn_idly(b());
  EXPECT_FALSE(op.result);
  write_all(s[1], "late");
  until([&] { return op.result.has_value(); });
  EXPECT_EQ(as_text(bytes_view(into).first(4)), "late");
  op.result.reset();
  b().submit(op);
  ::close(s[1]);
  until([&] { return op.result.has_value(); });
  EXPECT_EQ(*op.result, 0);
  b().close(s[0]);
}

// A short receive tells the backend that no bytes are left, a full one does not.
TEST_P(backend_operations, ReceivesInARowMissNeitherBytesNorTheEnd) {
  const auto s = pair();
  std::array<std::uint8_t, 4> into{};
  operation_under_test op(kind::receive, s[0]);
  op.into = into;
  std::string got;
  const auto receive = [&] {
    op.result.reset();
    b().submit(op);
    until([&] { return op.result.has_value(); });
    got.append(as_text(bytes_view(into).first(static_cast<std::size_t>(*op.result))));
  };
  b().submit(op);
  turn_idly(b());  // has to wait: from here on the socket is watched
  write_all(s[1], "a");
  until([&] { return op.result.has_value(); });
  write_all(s[1], "bcdefg");
  receive();
  receive();
  write_all(s[1], "hijk");
  receive();
  EXPECT_EQ(got, "bcdefghijk");
  write_all(s[1], "l");
  receive();
  ::close(s[1]);
  turn_idly(b());
  receive();
  EXPECT_EQ(*op.result, 0);
  receive();
  EXPECT_EQ(*op.result, 0);
  b().close(s[0]);
}

// io_uring tries the operation inside the kernel.
TEST_P(epoll_operations, AReceiveBehindAShortOneIsNotTriedInVain) {
  const auto s = pair();
  std::array<std::uint8_t, 16> into{};
  operation_under_test op(kind::receive, s[0]);
  op.into = into;
  b().submit(op);
  turn_idly(b());
  write_all(s[1], "short");
  until([&] { return op.result.has_value(); });
  op.result.reset();
  b().submit(op);
  const std::uint64_t turns = b().stats().turns;
  const std::uint64_t calls = b().stats().system_calls;
  turn_idly(b());
  EXPECT_EQ(b().stats().system_calls - calls, b().stats().turns - turns) << "one epoll_wait a turn";
  write_all(s[1], "more");
  until([&] { return op.result.has_value(); });
  EXPECT_EQ(*op.result, 4);
  b().close(s[0]);
  ::close(s[1]);
}

TEST_P(backend_operations, ASendOfManyPiecesArrivesWholeThroughASmallBuffer) {
  const auto s = pair();
  const int small = 4096;
  ::setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  const std::string text = pattern(1 << 20);
  std::vector<runtime_internal::operation::piece> pieces;
  for (std::size_t at = 0, n = 1; at < text.size(); at += n, n = n * 2 % 60'001 + 1)
    pieces.push_back({text.data() + at, std::min(n, text.size() - at)});
  operation_under_test op(kind::send, s[0]);
  op.pieces = pieces.data();
  op.piece_count = pieces.size();
  // The reader is another thread: a send waits for it.
  std::string got;
  ::fcntl(s[1], F_SETFL, 0);
  std::thread reader([&] { got = read_all(s[1], text.size()); });
  b().submit(op);
  until([&] { return op.result.has_value(); });
  reader.join();
  EXPECT_EQ(*op.result, static_cast<std::int64_t>(text.size()));
  EXPECT_TRUE(got == text);
  b().close(s[0]);
  ::close(s[1]);
}

TEST_P(backend_operations, MoreThanIovMaxPiecesGoOut) {
  const auto s = pair();
  const std::string text = pattern(3000);
  std::vector<runtime_internal::operation::piece> pieces;
  for (const char& c : text) pieces.push_back({&c, 1});
  operation_under_test op(kind::send, s[0]);
  op.pieces = pieces.data();
  op.piece_count = pieces.size();
  b().submit(op);
  until([&] { return op.result.has_value(); });
  EXPECT_EQ(*op.result, 3000);
  EXPECT_TRUE(read_all(s[1], 3000) == text);
  b().close(s[0]);
  ::close(s[1]);
}

TEST_P(backend_operations, ASendToAClosedPeerFailsWithoutASignal) {
  const auto s = pair();
  ::close(s[1]);
  const runtime_internal::operation::piece p{"x", 1};
  operation_under_test op(kind::send, s[0]);
  op.pieces = &p;
  op.piece_count = 1;
  b().submit(op);
  until([&] { return op.result.has_value(); });
  EXPECT_EQ(*op.result, -EPIPE);
  b().close(s[0]);
}

TEST_P(backend_operations, CancelEndsAReceive) {
  const auto s = pair();
  std::array<std::uint8_t, 16> into{};
  operation_under_test op(kind::receive, s[0]);
  op.into = into;
  b().submit(op);
  turn_idly(b());
  b().cancel(op);
  EXPECT_FALSE(op.result) << "not inside cancel()";
  until([&] { return op.result.has_value(); });
  EXPECT_EQ(*op.result, -ECANCELED);
  b().close(s[0]);
  ::close(s[1]);
}

TEST_P(backend_operations, CancelRightAfterSubmitEndsIt) {
  const auto s = pair();
  std::array<std::uint8_t, 16> into{};
  operation_under_test op(kind::receive, s[0]);
  op.into = into;
  b().submit(op);
  b().cancel(op);
  until([&] { return op.result.has_value(); });
  EXPECT_EQ(*op.result, -ECANCELED);
  b().close(s[0]);
  ::close(s[1]);
}

TEST_P(backend_operations, CancelEndsASendThatIsHalfDone) {
  const auto s = pair();
  const std::string text(8 << 20, 'x');
  const runtime_internal::operation::piece p{text.data(), text.size()};
  operation_under_test op(kind::send, s[0]);
  op.pieces = &p;
  op.piece_count = 1;
  b().submit(op);
  turn_idly(b());
  EXPECT_FALSE(op.result);
  b().cancel(op);
  until([&] { return op.result.has_value(); });
  EXPECT_EQ(*op.result, -ECANCELED);
  b().close(s[0]);
  ::close(s[1]);
}

TEST_P(backend_operations, PollsWaitForReadinessAndConsumeNothing) {
  const auto s = pair();
  operation_under_test in(kind::poll_in, s[0]);
  operation_under_test out(kind::poll_out, s[0]);
  b().submit(in);
  b().submit(out);
  until([&] { return out.result.has_value(); });
  EXPECT_EQ(*out.result, 0);
  EXPECT_FALSE(in.result);
  write_all(s[1], "y");
  until([&] { return in.result.has_value(); });
  EXPECT_EQ(*in.result, 0);
  char c = 0;
  EXPECT_EQ(::recv(s[0], &c, 1, 0), 1);
  b().close(s[0]);
  ::close(s[1]);
}

TEST_P(backend_operations, PipesWorkLikeSockets) {
  std::array<int, 2> p{};
  ASSERT_EQ(::pipe2(p.data(), O_CLOEXEC | O_NONBLOCK), 0);
  std::array<std::uint8_t, 16> into{};
  operation_under_test in(kind::receive, p[0]);
  in.into = into;
  b().submit(in);
  turn_idly(b());
  EXPECT_FALSE(in.result);
  const runtime_internal::operation::piece piece{"through", 7};
  operation_under_test out(kind::send, p[1]);
  out.pieces = &piece;
  out.piece_count = 1;
  b().submit(out);
  until([&] { return in.result && out.result; });
  EXPECT_EQ(*out.result, 7);
  EXPECT_EQ(*in.result, 7);
  b().close(p[0]);
  b().close(p[1]);
}

TEST_P(backend_operations, ConnectsAcceptsAndKnowsBothAddresses) {
  const std::int64_t listener = b().open_listener(loopback(), {});
  ASSERT_GE(listener, 0);
  runtime_internal::raw_address at;
  ASSERT_EQ(b().local_address(static_cast<int>(listener), at), 0);
  const std::int64_t client = b().open_stream(AF_INET);
  ASSERT_GE(client, 0);
  operation_under_test connect(kind::connect, static_cast<int>(client));
  connect.address = &at;
  operation_under_test accept(kind::accept, static_cast<int>(listener));
  b().submit(accept);
  b().submit(connect);
  until([&] { return connect.result && accept.result; });
  EXPECT_EQ(*connect.result, 0);
  ASSERT_GE(*accept.result, 0);
  runtime_internal::raw_address seen;
  runtime_internal::raw_address own;
  EXPECT_EQ(b().peer_address(static_cast<int>(*accept.result), seen), 0);
  EXPECT_EQ(b().local_address(static_cast<int>(client), own), 0);
  EXPECT_EQ(std::memcmp(seen.bytes, own.bytes, sizeof(sockaddr_in)), 0);
  b().close(static_cast<int>(*accept.result), true);
  b().close(static_cast<int>(client));
  b().close(static_cast<int>(listener));
}

TEST_P(backend_operations, AConnectToAClosedPortIsRefused) {
  const std::int64_t listener = b().open_listener(loopback(), {});
  runtime_internal::raw_address at;
  ASSERT_EQ(b().local_address(static_cast<int>(listener), at), 0);
  b().close(static_cast<int>(listener));
  const std::int64_t client = b().open_stream(AF_INET);
  operation_under_test connect(kind::connect, static_cast<int>(client));
  connect.address = &at;
  b().submit(connect);
  until([&] { return connect.result.has_value(); });
  EXPECT_EQ(*connect.result, -ECONNREFUSED);
  b().close(static_cast<int>(client));
}

TEST_P(backend_operations, HundredsInFlightOverflowNoQueue) {
  std::vector<std::array<int, 2>> pairs;
  std::vector<std::unique_ptr<operation_under_test>> ops;
  std::vector<std::array<std::uint8_t, 4>> into(600);
  for (std::size_t i = 0; i < 600; ++i) {
    pairs.push_back(pair());
    ops.push_back(std::make_unique<operation_under_test>(kind::receive, pairs[i][0]));
    ops[i]->into = into[i];
    b().submit(*ops[i]);
  }
  for (const auto& p : pairs) write_all(p[1], "ab");
  until([&] {
    for (const auto& op : ops)
      if (!op->result) return false;
    return true;
  });
  for (std::size_t i = 0; i < 600; ++i) {
    EXPECT_EQ(*ops[i]->result, 2);
    b().close(pairs[i][0]);
    ::close(pairs[i][1]);
  }
}

// The kernel may interrupt a wait, for example while it tears an old ring down.
TEST_P(backend_operations, ATurnEndsAtItsTimeOrALittleBefore) {
  turn_idly(b());
  const time_point end = b().now() + std::chrono::milliseconds(20);
  int turns = 0;
  for (; b().now() < end; ++turns) b().turn(end);
  EXPECT_LE(turns, 4);
}

TEST_P(backend_operations, AWakeEndsATurnOrTheNextOne) {
  turn_idly(b());
  const time_point much_later = b().now() + std::chrono::hours(1);
  b().wake();
  b().turn(much_later);
  EXPECT_LT(b().now(), much_later);
  std::thread waker([this] { b().wake(); });
  b().turn(much_later);
  waker.join();
  EXPECT_LT(b().now(), much_later);
}

TEST_P(io_uring_operations, OneSystemCallATurnCarriesEverything) {
  turn_idly(b());
  const auto s = pair();
  const auto t = pair();
  const runtime_internal::operation::piece p{"x", 1};
  operation_under_test one(kind::send, s[0]);
  operation_under_test two(kind::send, t[0]);
  for (auto* op : {&one, &two}) {
    op->pieces = &p;
    op->piece_count = 1;
  }
  const auto before = b().stats().system_calls;
  b().submit(one);
  b().submit(two);
  b().turn(b().now() + std::chrono::seconds(1));
  EXPECT_TRUE(one.result && two.result);
  EXPECT_EQ(b().stats().system_calls, before + 1);
  for (int h : {s[0], t[0]}) b().close(h);
  ::close(s[1]), ::close(t[1]);
}

// run() may be called on one thread and the runtime destroyed on another.
TEST_P(backend_operations, WhatIsInFlightMovesToTheNextThread) {
  const auto s = pair();
  std::array<std::uint8_t, 16> into{};
  operation_under_test in(kind::receive, s[0]);
  in.into = into;
  receiver_under_test source;
  const auto t = pair();
  std::thread first([&] {
    b().submit(in);
    b().start_receive(t[0], source);
    turn_idly(b());
    write_all(t[1], "one ");
    turn_until(b(), [&] { return source.text == "one "; });
    b().release_thread();
  });
  first.join();
  EXPECT_FALSE(in.result);
  write_all(s[1], "other thread");
  write_all(t[1], "two");
  until([&] { return in.result && source.text == "one two"; });
  EXPECT_EQ(*in.result, 12);
  b().stop_receive(source);
  until([&] { return source.end.has_value(); });
  b().wake();
  b().turn(b().now() + std::chrono::hours(1));
  b().close(s[0]);
  b().close(t[0]);
  ::close(s[1]), ::close(t[1]);
}

INSTANTIATE_TEST_SUITE_P(Kernel, backend_operations, every_shape, shape_name);
INSTANTIATE_TEST_SUITE_P(Kernel, epoll_operations, testing::Values(shape::epoll), shape_name);
INSTANTIATE_TEST_SUITE_P(Kernel, io_uring_operations, testing::Values(shape::io_uring), shape_name);

}  // namespace
}  // namespace coracle::test::backend_operations_test
