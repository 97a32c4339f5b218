#include "coracle/net/stream.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "support/every_backend.hpp"
#include "unit/net/connection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace coracle::net::stream_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing_support::all_kinds;

class Stream : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, Stream, all_kinds, Stream::case_name);
class AdoptedStream : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, AdoptedStream, testing_support::kernel_kinds, AdoptedStream::case_name);

task<> echo_all(stream& s) {
  std::vector<std::uint8_t> buffer(4096);
  for (;;) {
    const result<std::size_t> n = co_await s.read(buffer);
    if (!n.ok() || *n == 0) break;
    const status sent = co_await s.write(bytes_view(buffer).first(*n));
    EXPECT_TRUE(sent.ok()) << sent;
  }
  s.shutdown_send();
}

task<> ask(stream& s, std::string question) {
  const status sent = co_await write_text(s, question);
  EXPECT_TRUE(sent.ok()) << sent;
  const std::string answer = co_await read_text(s, question.size());
  EXPECT_EQ(answer, question);
  s.shutdown_send();
  const std::string rest = co_await read_text(s, 1);
  EXPECT_EQ(rest, "");
}

task<> echo_over(address at) {
  stream_pair pair = co_await connected_pair(at);
  co_await when_all(echo_all(pair.server), ask(pair.client, "hello over " + at.to_string()));
}

// Empty if the machine can listen there.
task<std::string> missing(address at) {
  result<listener> l = listener::open(at);
  if (!l) co_return std::string(l.status().message());
  co_await l->close();
  co_return std::string();
}

TEST_P(Stream, EchoesOverIpv4) { run(echo_over(address::loopback_v4(0))); }

TEST_P(Stream, EchoesOverIpv6) {
  const std::string ipv6_failure = run(missing(address::loopback_v6(0)));
  if (!ipv6_failure.empty()) GTEST_SKIP() << "no IPv6 here: " << ipv6_failure;
  run(echo_over(address::loopback_v6(0)));
}

TEST_P(Stream, EchoesOverAUnixSocket) {
  const socket_path path;
  run(echo_over(path.where()));
}

TEST_P(Stream, EchoesOverAnAbstractUnixSocket) {
  run(echo_over(address::abstract("coracle-net-test-" + std::to_string(::getpid())).value()));
}

task<> addresses_match() {
  const stream_pair pair = co_await connected_pair();
  EXPECT_EQ(pair.client.peer_address(), pair.server.local_address());
  EXPECT_EQ(pair.client.local_address(), pair.server.peer_address());
  EXPECT_NE(pair.client.local_address().port(), 0);
}
TEST_P(Stream, KnowsBothOfItsAddresses) { run(addresses_match()); }

task<> half_close() {
  stream_pair pair = co_await connected_pair();
  const status asked = co_await write_text(pair.client, "question");
  EXPECT_TRUE(asked.ok());
  pair.client.shutdown_send();
  const std::string question = co_await read_text(pair.server, 100);  // up to the end
  EXPECT_EQ(question, "question");
  const status answered = co_await write_text(pair.server, "answer");
  EXPECT_TRUE(answered.ok());
  pair.server.shutdown_send();
  const std::string answer = co_await read_text(pair.client, 100);
  EXPECT_EQ(answer, "answer");
  const status late = co_await write_text(pair.client, "x");
  EXPECT_EQ(late.code(), status_code::unavailable);
}
TEST_P(Stream, EachSideEndsOnItsOwn) { run(half_close()); }

task<> slow_reader(stream& s, const std::string& expected) {
  std::string got;
  std::vector<std::uint8_t> buffer(10'000);
  while (got.size() < expected.size()) {
    const result<std::size_t> n = co_await s.read(buffer);
    if (!n.ok() || *n == 0) break;
    got.append(reinterpret_cast<const char*>(buffer.data()), *n);
    if (got.size() % 7 == 0) co_await sleep_for(50us);  // sleeps on purpose: the reader is slow
  }
  EXPECT_TRUE(got == expected) << got.size() << " of " << expected.size();
}

task<> write_all(stream& s, const std::string& text) {
  const status sent = co_await write_text(s, text);
  EXPECT_TRUE(sent.ok()) << sent;
}

task<> bulk_both_ways() {
  stream_pair pair = co_await connected_pair();
  const std::string there = pattern(4 << 20, 1);
  const std::string back = pattern(4 << 20, 2);
  co_await when_all(write_all(pair.client, there), slow_reader(pair.server, there),
                    write_all(pair.server, back), slow_reader(pair.client, back));
}
TEST_P(Stream, MovesFourMegabytesBothWaysToSlowReaders) { run(bulk_both_ways()); }

// The port of a listener that was closed.
task<address> closed_address() {
  listener l = listener::open(address::loopback_v4(0)).value();
  const address at = l.local_address();
  co_await l.close();
  co_return at;
}

task<status> connect_to(address at) {
  const result<stream> s = co_await stream::connect(at);
  co_return s.status();
}

TEST_P(Stream, NobodyListens) {
  const address at = run(closed_address());
  const status refused = run(connect_to(at));
  EXPECT_EQ(refused, status::unavailable("connection refused: no process listens on " + at.to_string()));
}

TEST_P(Stream, NoSuchUnixSocket) {
  const socket_path path;
  const status refused = run(connect_to(path.where()));
  EXPECT_EQ(refused.code(), status_code::unavailable);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("no process listens on unix:"));
}

TEST_P(Stream, ThereIsNoAddressToConnectTo) {
  EXPECT_EQ(run(connect_to(address())).code(), status_code::invalid_argument);
}

task<> read_until_stopped(stream& s, status& outcome) {
  std::vector<std::uint8_t> buffer(100);
  const result<std::size_t> n = co_await s.read(buffer);
  outcome = n.status();
}

task<> stop_a_read() {
  stream_pair pair = co_await connected_pair();
  scope reading;
  status outcome;
  reading.spawn(read_until_stopped(pair.client, outcome));
  co_await sleep_for(1ms);  // sleeps on purpose: the read reaches the kernel
  reading.request_stop();
  co_await reading.join();
  EXPECT_EQ(outcome.code(), status_code::cancelled);

  // A read that ended early has taken nothing, and the stream still works.
  co_await write_all(pair.server, "still here");
  const std::string text = co_await read_text(pair.client, 10);
  EXPECT_EQ(text, "still here");
}
TEST_P(Stream, AStopEndsAReadAndTakesNothing) { run(stop_a_read()); }

task<> stopped_before() {
  stream_pair pair = co_await connected_pair();
  scope reading;
  reading.request_stop();
  status outcome;
  reading.spawn(read_until_stopped(pair.client, outcome));
  co_await reading.join();
  EXPECT_EQ(outcome.code(), status_code::cancelled);
}
TEST_P(Stream, AReadUnderAStopThatHasComeDoesNotBegin) { run(stopped_before()); }

task<status> read_once(stream& s) {
  std::vector<std::uint8_t> buffer(100);
  const result<std::size_t> n = co_await s.read(buffer);
  co_return n.status();
}

task<> read_by_deadline() {
  stream_pair pair = co_await connected_pair();
  std::vector<std::uint8_t> buffer(100);
  // timeout() stops the task at the same moment: the reason is the deadline nevertheless.
  const result<std::size_t> outcome = co_await with_timeout(2ms, pair.client.read(buffer));
  EXPECT_EQ(outcome.status().code(), status_code::deadline_exceeded);
}
TEST_P(Stream, ATimeoutAroundAReadIsADeadline) { run(read_by_deadline()); }

// Each write is accepted at once, and each read finds its byte: none of them ever has to wait.
task<status> talk_without_a_pause(stream_pair& pair) {
  std::uint8_t byte[] = {7};
  status last;
  while (last.ok()) {
    last = co_await pair.client.write(byte);
    if (!last.ok()) break;
    const result<std::size_t> got = co_await pair.server.read(byte);
    last = got.status();
  }
  co_return last;
}
task<> talk_beside_a_timer() {
  stream_pair pair = co_await connected_pair();
  const status outcome = co_await with_timeout(20ms, talk_without_a_pause(pair));
  EXPECT_EQ(outcome.code(), status_code::deadline_exceeded);
}
TEST_P(Stream, WhatNeverHasToWaitLeavesTheLoopToOthers) { run(talk_beside_a_timer()); }

task<> read_with(stream& s, coro::environment& e, status& outcome) {
  scope under(e);
  under.spawn(read_until_stopped(s, outcome));
  co_await under.join();
}

task<> read_under_a_deadline_alone() {
  stream_pair pair = co_await connected_pair();
  coro::environment e;
  e.deadline = deadline_after(coro::this_executor().now(), 2ms);
  status outcome;
  co_await read_with(pair.client, e, outcome);
  EXPECT_EQ(outcome.code(), status_code::deadline_exceeded);
  co_await read_with(pair.client, e, outcome);  // it has passed already
  EXPECT_EQ(outcome.code(), status_code::deadline_exceeded);
}
TEST_P(Stream, ADeadlineEndsARead) { run(read_under_a_deadline_alone()); }

task<> peer_resets() {
  stream_pair pair = co_await connected_pair();
  pair.server.close(true);
  const status outcome = co_await read_once(pair.client);
  EXPECT_EQ(outcome.code(), status_code::unavailable);
  EXPECT_THAT(std::string(outcome.message()), HasSubstr("reset"));
}
TEST_P(Stream, AnAbortReachesThePeerAsAReset) { run(peer_resets()); }

task<> close_with_unread_bytes() {
  stream_pair pair = co_await connected_pair();
  co_await write_all(pair.client, "nobody reads this");
  const std::string first = co_await read_text(pair.server, 1);
  EXPECT_EQ(first, "n");
  pair.server.close();
  const status outcome = co_await read_once(pair.client);
  EXPECT_EQ(outcome.code(), status_code::unavailable);
}
TEST_P(Stream, ClosingWithUnreadBytesIsAReset) { run(close_with_unread_bytes()); }

task<> write_that_nobody_reads(stream& s, const std::string& text, status& outcome) {
  const status sent = co_await write_text(s, text);
  outcome = sent;
}

task<> stop_a_write() {
  stream_pair pair = co_await connected_pair();
  const std::string text = pattern(32 << 20, 3);
  scope writing;
  status outcome;
  writing.spawn(write_that_nobody_reads(pair.client, text, outcome));
  co_await sleep_for(2ms);  // sleeps on purpose: the kernel's buffers fill up
  EXPECT_EQ(writing.running(), 1u);
  writing.request_stop();
  co_await writing.join();
  EXPECT_EQ(outcome.code(), status_code::cancelled);
}
TEST_P(Stream, AStopEndsAWriteThatNobodyReads) { run(stop_a_write()); }

task<> write_against_a_reset() {
  stream_pair pair = co_await connected_pair();
  const std::string text = pattern(32 << 20, 4);
  scope writing;
  status outcome;
  writing.spawn(write_that_nobody_reads(pair.client, text, outcome));
  co_await sleep_for(2ms);  // sleeps on purpose: the kernel's buffers fill up
  pair.server.close(true);
  co_await writing.join();
  EXPECT_EQ(outcome.code(), status_code::unavailable);
}
TEST_P(Stream, AWaitingWriteFailsWhenThePeerResets) { run(write_against_a_reset()); }

task<> nothing_to_do() {
  stream_pair pair = co_await connected_pair();
  const status empty = co_await pair.client.write(bytes_view());
  EXPECT_TRUE(empty.ok());
  const result<std::size_t> none = co_await pair.client.read(mutable_bytes());
  EXPECT_EQ(none.status().code(), status_code::invalid_argument);
}
TEST_P(Stream, AnEmptyWriteIsDoneAndAnEmptyReadIsADefect) { run(nothing_to_do()); }

task<> both_ends_of_a_socket_pair() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  stream first = stream::adopt(ends[0]).value();
  stream second = stream::adopt(ends[1]).value();
  EXPECT_EQ(::fcntl(ends[0], F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(first.peer_address().to_string(), "unix:");
  scope echoing;
  echoing.spawn(echo_all(second));
  co_await ask(first, "hello");
  co_await echoing.join();
  first.close();
  EXPECT_EQ(::fcntl(ends[0], F_GETFD), -1);
}
TEST_P(AdoptedStream, IsOneOfTheProgramsOwnSockets) { run(both_ends_of_a_socket_pair()); }

task<> what_is_no_connection() {
  EXPECT_EQ(stream::adopt(-1).status(), status::invalid_argument("descriptor -1 is not open"));
  const int unconnected = ::socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT_THAT(stream::adopt(unconnected).status().to_string(), HasSubstr("is not connected"));
  EXPECT_EQ(::close(unconnected), 0);
  const int datagrams = ::socket(AF_INET, SOCK_DGRAM, 0);
  EXPECT_THAT(stream::adopt(datagrams).status().to_string(), HasSubstr("is not a TCP or UNIX stream socket"));
  EXPECT_EQ(::close(datagrams), 0);
  co_return;
}
TEST_P(AdoptedStream, IsConnected) { run(what_is_no_connection()); }

}  // namespace
}  // namespace coracle::net::stream_test
