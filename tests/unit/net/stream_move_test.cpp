// A connection that moves from one loop of a runtime to another.
#include "coracle/net/stream.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/runtime/on.hpp"
#include "support/every_backend.hpp"
#include "support/misuse.hpp"
#include "unit/net/connection.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace coracle::net::stream_move_test {
namespace {

using namespace std::chrono_literals;
using test::expect_misuse;
using testing_support::all_kinds;
using testing_support::any_world;

class StreamMove : public testing_support::every_backend {
 protected:
  StreamMove() : every_backend(2) {}
};
INSTANTIATE_TEST_SUITE_P(On, StreamMove, all_kinds, StreamMove::case_name);

loop& loop_0() { return loop::current()->owner().at(0); }
loop& loop_1() { return loop::current()->owner().at(1); }

task<std::string> read_there(stream& from, std::size_t n) {
  EXPECT_EQ(loop::current(), &loop_1());
  co_return co_await read_text(from, n);
}
task<> write_there(stream& to, std::string text) {
  EXPECT_EQ(loop::current(), &loop_1());
  const status sent = co_await write_text(to, text);
  EXPECT_EQ(sent, status());
}

task<> close_here(stream& s) {
  s.close();
  co_return;
}

task<> bytes_that_have_arrived() {
  stream_pair pair = co_await connected_pair();
  const status sent = co_await write_text(pair.client, "first, second");
  EXPECT_EQ(sent, status());
  pair.client.shutdown_send();
  const std::string first = co_await read_text(pair.server, 7);
  EXPECT_EQ(first, "first, ");
  pair.server.move_to(loop_1());
  const std::string second = co_await on(loop_1(), read_there(pair.server, 100));
  EXPECT_EQ(second, "second");
  co_await on(loop_1(), write_there(pair.server, "answer"));
  const std::string answer = co_await read_text(pair.client, 6);
  EXPECT_EQ(answer, "answer");
  expect_misuse([&] { pair.server.move_to(loop_0()); }, "does not run on its owner loop");
  co_await on(loop_1(), close_here(pair.server));
}

TEST_P(StreamMove, BytesThatHaveArrivedAreReadOnTheOtherLoop) { run(bytes_that_have_arrived()); }

constexpr std::size_t whole = 300'000;
constexpr std::size_t part = 7'001;

task<> write_whole(stream& to) {
  const std::string text = pattern(whole, 1);
  const status sent = co_await write_text(to, text);
  EXPECT_EQ(sent, status());
  to.shutdown_send();
}

// Reads a part on each loop in turn; the backend of each loop sees the descriptor again and again, and a wait
// for bytes often stands on one loop just after it stood on the other.
task<std::string> read_a_part_and_move(stream& from, loop& next) {
  std::string got = co_await read_text(from, part);
  from.move_to(next);
  co_return got;
}
task<> to_and_fro() {
  stream_pair pair = co_await connected_pair();
  scope writers;
  writers.spawn(write_whole(pair.client));
  std::string got;
  for (std::size_t before = ~std::size_t{0}; before != got.size();) {
    before = got.size();
    got += co_await read_a_part_and_move(pair.server, loop_1());
    got += co_await on(loop_1(), read_a_part_and_move(pair.server, loop_0()));
  }
  co_await writers.join();
  EXPECT_TRUE(got == pattern(whole, 1)) << got.size() << " bytes arrived of " << whole;
}

TEST_P(StreamMove, NothingIsLostWhileTheStreamMovesToAndFro) { run(to_and_fro()); }

// The read that ended early has registered the descriptor with loop 0.
task<> late_write(stream& to) {
  co_await sleep_for(2ms);
  const status sent = co_await write_text(to, "late");
  EXPECT_EQ(sent, status());
}
task<> wait_here_then_there() {
  stream_pair pair = co_await connected_pair();
  std::vector<std::uint8_t> room(10);
  const result<std::size_t> none = co_await with_timeout(1ms, pair.server.read(room));
  EXPECT_EQ(none.status().code(), status_code::deadline_exceeded);
  pair.server.move_to(loop_1());
  scope writers;
  writers.spawn(late_write(pair.client));
  const std::string got = co_await on(loop_1(), read_there(pair.server, 4));
  EXPECT_EQ(got, "late");
  co_await writers.join();
  co_await on(loop_1(), close_here(pair.server));

  // The next connection has the same descriptor, for which loop 0 has to wait anew.
  stream_pair next = co_await connected_pair();
  writers.spawn(late_write(next.client));
  const result<std::string> late = co_await with_timeout(10s, read_text(next.server, 4));
  EXPECT_TRUE(late.ok() && *late == "late") << late.status();
  co_await writers.join();
}

TEST_P(StreamMove, ALoopThatHasWaitedForTheStreamForgetsIt) { run(wait_here_then_there()); }

task<> read_into(stream& from, std::vector<std::uint8_t>& room) {
  const result<std::size_t> got = co_await from.read(room);
  EXPECT_TRUE(got.ok() && *got == 4u) << got.status();
}
task<> move_during_a_read() {
  stream_pair pair = co_await connected_pair();
  std::vector<std::uint8_t> room(4);
  scope readers;
  readers.spawn(read_into(pair.server, room));
  co_await sleep_for(1ms);
  expect_misuse([&] { pair.server.move_to(loop_1()); }, "await its read and its write first");
  const status sent = co_await write_text(pair.client, "text");  // the read goes on
  EXPECT_EQ(sent, status());
  co_await readers.join();
}

TEST_P(StreamMove, AMoveDuringAReadIsAnErrorAndTheReadGoesOn) { run(move_during_a_read()); }

task<> use_after_the_move() {
  stream_pair pair = co_await connected_pair();
  pair.server.move_to(loop_1());
  std::string refused;
  try {
    const status sent = co_await write_text(pair.server, "from the wrong loop");
    ADD_FAILURE() << sent;
  } catch (const usage_error& e) {
    refused = e.what();
  }
  EXPECT_THAT(refused, ::testing::HasSubstr("on a loop other than its owner loop"));
  co_await on(loop_1(), write_there(pair.server, "right"));
  const std::string got = co_await read_text(pair.client, 5);
  EXPECT_EQ(got, "right");
  co_await on(loop_1(), close_here(pair.server));
}

TEST_P(StreamMove, TheFormerLoopCanNotUseTheStream) { run(use_after_the_move()); }

task<> moves_outside_the_runtime(loop& foreign) {
  stream_pair pair = co_await connected_pair();
  expect_misuse([&] { pair.server.move_to(foreign); }, "a loop of another runtime");
  pair.server.close();
  expect_misuse([&] { pair.server.move_to(loop_1()); }, "this stream is closed");
}

TEST_P(StreamMove, AStreamStaysInItsRuntime) {
  any_world other(GetParam());
  ASSERT_TRUE(other.get()) << other.missing();
  run(moves_outside_the_runtime(other.get()->at(0)));
}

task<> expect_end(stream& s) {
  const std::string rest = co_await read_text(s, 1);
  EXPECT_EQ(rest, "");
}
task<> unused() {
  stream_pair dropped_here = co_await connected_pair();
  dropped_here.server.move_to(loop_1());
  dropped_here.server.close();
  co_await expect_end(dropped_here.client);

  stream_pair dropped_there = co_await connected_pair();
  dropped_there.server.move_to(loop_1());
  co_await on(loop_1(), close_here(dropped_there.server));
  co_await expect_end(dropped_there.client);

  stream_pair moved_again = co_await connected_pair();
  moved_again.server.move_to(loop_1());
  moved_again.server.move_to(loop_0());
  const status sent = co_await write_text(moved_again.server, "back");
  EXPECT_EQ(sent, status());
  const std::string got = co_await read_text(moved_again.client, 4);
  EXPECT_EQ(got, "back");
}

TEST_P(StreamMove, AStreamThatWasNotUsedSinceItsMoveMayEndOrMoveOnEitherLoop) { run(unused()); }

// --- connections spread over loops

task<> serve(stream s, std::atomic<unsigned>& served_on) {
  served_on |= 1u << loop::current()->index();
  std::vector<std::uint8_t> room(64);
  for (;;) {
    const result<std::size_t> n = co_await s.read(room);
    EXPECT_TRUE(n.ok()) << n.status();
    if (!n.ok() || *n == 0) co_return;
    const status sent = co_await s.write(bytes_view(room).first(*n));
    EXPECT_EQ(sent, status());
  }
}
task<> accept_and_spread(listener& from, int connections, std::atomic<unsigned>& served_on) {
  for (int i = 0; i < connections; ++i) {
    stream s = (co_await from.accept()).value();
    loop& where = loop::current()->owner().next();
    s.move_to(where);
    loop::current()->owner().spawn_on(where, serve(std::move(s), served_on));
  }
}
task<> ask(address server, int i) {
  stream s = (co_await stream::connect(std::move(server))).value();
  const std::string question = "question " + std::to_string(i);
  const status sent = co_await write_text(s, question);
  EXPECT_EQ(sent, status());
  s.shutdown_send();
  const std::string answer = co_await read_text(s, question.size() + 1);
  EXPECT_EQ(answer, question);
}
task<> spread_over_loops(std::atomic<unsigned>& served_on) {
  constexpr int connections = 20;
  listener waiting = listener::open(address::loopback_v4(0)).value();
  scope clients;
  for (int i = 0; i < connections; ++i) clients.spawn(ask(waiting.local_address(), i));
  co_await accept_and_spread(waiting, connections, served_on);
  co_await clients.join();
  co_await waiting.close();
}

TEST_P(StreamMove, ConnectionsOfOneListenerAreServedOnAllLoops) {
  std::atomic<unsigned> served_on = 0;
  run(spread_over_loops(served_on));
  EXPECT_EQ(served_on, 3u);
}

}  // namespace
}  // namespace coracle::net::stream_move_test
