// What a byte_stream that a user has written may do to its duplex, beyond the contract (duplex_test.cpp).
#include "net/byte_stream_duplex.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/coro/yield.hpp"
#include "support/every_backend.hpp"
#include "unit/net/connection.hpp"
#include "unit/net/recorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

namespace coracle::net::byte_stream_duplex_test {
namespace {

using namespace std::chrono_literals;
using testing_support::any_world;
using testing_support::world_kind;

// What the stream under test does, and what was done to it. Outlives it.
struct script {
  task<result<std::size_t>> (*read)(script&, mutable_bytes) = &waits;
  task<status> (*write)(script&, bytes_view) = &writes;
  std::string written;
  std::size_t largest_write = 0;
  int writes_begun = 0;
  int ends = 0;
  int closes = 0;
  bool aborted = false;
  bool destroyed = false;
  int in_flight = 0;
  std::size_t left = 0;

  static task<result<std::size_t>> waits(script& s, mutable_bytes) {
    ++s.in_flight;
    try {
      co_await sleep_for(1h);
    } catch (const coro::cancelled&) {
    }
    --s.in_flight;
    co_return status::cancelled("stopped");
  }
  static task<status> writes(script& s, bytes_view bytes) {
    s.written.append(as_text(bytes));
    s.largest_write = std::max(s.largest_write, bytes.size());
    co_return status();
  }
};

class scripted_stream final : public byte_stream {
 public:
  explicit scripted_stream(script& s) : script_(s) {}
  ~scripted_stream() override { script_.destroyed = true; }
  task<result<std::size_t>> read(mutable_bytes into) override { return script_.read(script_, into); }
  task<status> write(bytes_view bytes) override {
    ++script_.writes_begun;
    return script_.write(script_, bytes);
  }
  task<status> shutdown_send() override {
    ++script_.ends;
    co_return status();
  }
  void close(bool abort) noexcept override {
    EXPECT_EQ(script_.in_flight, 0) << "closed with an operation in flight";
    ++script_.closes;
    script_.aborted = abort;
  }

 private:
  script& script_;
};

std::unique_ptr<duplex> duplex_over(script& s) {
  return make_duplex(*loop::current(), std::make_unique<scripted_stream>(s)).value();
}

class ByteStreamDuplex : public testing::Test {
 protected:
  template <class... Args>
  void run(task<> (*body)(Args...), Args... args) {
    sync_wait(*world_.get(), world_.get()->at(0), body(args...));
  }
  any_world world_{world_kind::sim};
};

task<> never_started() {
  script s;
  duplex_over(s).reset();
  EXPECT_EQ(s.closes, 1);
  EXPECT_FALSE(s.aborted);
  EXPECT_TRUE(s.destroyed);
  co_return;
}
TEST_F(ByteStreamDuplex, ClosesAStreamThatWasNeverStarted) { run(never_started); }

task<> close_while_waiting() {
  script s;
  recorder r(duplex_over(s));
  co_await sleep_for(1ms);
  EXPECT_EQ(s.in_flight, 1);
  co_await r.closed_down(true);
  EXPECT_EQ(s.closes, 1);
  EXPECT_TRUE(s.aborted);
  EXPECT_TRUE(s.destroyed);
  EXPECT_FALSE(r.end);
}
TEST_F(ByteStreamDuplex, StopsAReadAndWaitsForItsEndBeforeItCloses) { run(close_while_waiting); }

task<status> takes_long(script& s, bytes_view) {
  ++s.in_flight;
  try {
    co_await sleep_for(1h);
  } catch (const coro::cancelled&) {
  }
  // An operation may take a while to end.
  for (int i = 0; i < 10; ++i) {
    try {
      co_await sleep_for(1ms);
    } catch (const coro::cancelled&) {
    }
  }
  --s.in_flight;
  co_return status();
}
task<> close_while_writing() {
  script s;
  s.write = &takes_long;
  recorder r(duplex_over(s));
  EXPECT_TRUE(r.send("x"));
  co_await sleep_for(1ms);
  EXPECT_EQ(s.in_flight, 2);
  co_await r.closed_down();
  EXPECT_EQ(r.sends, std::vector<std::int64_t>{-ECANCELED});
  EXPECT_EQ(s.closes, 1);
}
TEST_F(ByteStreamDuplex, StopsAWriteAndSaysThatItWasCutShort) { run(close_while_writing); }

// Fills the room at once, without ever suspending.
task<result<std::size_t>> reads_at_once(script& s, mutable_bytes into) {
  const std::size_t n = std::min(s.left, into.size());
  std::fill_n(into.begin(), n, std::uint8_t{'r'});
  s.left -= n;
  co_return n;
}
task<> always_ready() {
  script s;
  s.read = &reads_at_once;
  s.left = 1 << 20;
  recorder r(duplex_over(s));
  bool others_ran = false;
  while (!r.end) {
    co_await yield();
    others_ran |= !r.text.empty() && !r.end;
  }
  EXPECT_EQ(*r.end, 0);
  EXPECT_EQ(r.text.size(), 1u << 20);
  EXPECT_TRUE(others_ran) << "a stream that is always ready gives way to the rest of the loop";
  EXPECT_TRUE(r.send("still"));
  co_await r.until_sent(1);
  EXPECT_EQ(s.written, "still");
  co_await r.closed_down();
}
TEST_F(ByteStreamDuplex, GivesWayWhenItsStreamIsAlwaysReady) { run(always_ready); }

task<> one_read_ahead() {
  script s;
  s.read = &reads_at_once;
  s.left = 1 << 20;
  recorder r(duplex_over(s));
  r.pause();
  co_await sleep_for(1ms);
  EXPECT_TRUE(r.text.empty());
  EXPECT_GE(s.left, (1u << 20) - 16 * 1024) << "a paused duplex reads at most one room ahead";
  r.resume();
  co_await r.until_end();
  EXPECT_EQ(r.text.size(), 1u << 20);
  co_await r.closed_down();
}
TEST_F(ByteStreamDuplex, ReadsNoMoreWhileItIsPaused) { run(one_read_ahead); }

task<> small_pieces() {
  script s;
  recorder r(duplex_over(s));
  const std::string large(40'000, 'l');
  const duplex::piece pieces[] = {
      {"one ", 4}, {"two ", 4}, {large.data(), large.size()}, {"", 0}, {" end", 4}};
  EXPECT_TRUE(r.line->send(pieces));
  co_await r.until_sent(1);
  EXPECT_EQ(r.sends.front(), 40'012);
  EXPECT_EQ(s.written, "one two " + large + " end");
  EXPECT_EQ(s.writes_begun, 3) << "small pieces are written together";
  co_await r.closed_down();
}
TEST_F(ByteStreamDuplex, WritesSmallPiecesTogether) { run(small_pieces); }

task<> shut_down() {
  script s;
  recorder r(duplex_over(s));
  EXPECT_TRUE(r.send("last"));
  r.line->shutdown_send();
  r.line->shutdown_send();
  co_await r.until_sent(1);
  co_await sleep_for(1ms);
  EXPECT_EQ(s.ends, 1);
  EXPECT_EQ(s.written, "last");
  co_await r.closed_down();
}
TEST_F(ByteStreamDuplex, EndsItsBytesOnceAndAfterTheLastWrite) { run(shut_down); }

// --- failures

task<result<std::size_t>> fails_to_read(script&, mutable_bytes) {
  co_return status::unavailable("the modem\nhung up");
}
task<result<std::size_t>> throws_in_read(script&, mutable_bytes) {
  co_await sleep_for(1us);
  throw std::runtime_error("no carrier");
}
task<result<std::size_t>> throws_at_once(script&, mutable_bytes) { throw std::runtime_error("no dial tone"); }
task<result<std::size_t>> reads_too_much(script&, mutable_bytes into) { co_return into.size() + 1; }
task<> failed_read(task<result<std::size_t>> (*read)(script&, mutable_bytes), const char* reason) {
  script s;
  s.read = read;
  recorder r(duplex_over(s));
  co_await r.until_end();
  EXPECT_EQ(*r.end, -ECONNRESET);
  EXPECT_EQ(r.line->end_reason(), reason);
  EXPECT_TRUE(r.text.empty());
  co_await r.closed_down();
  EXPECT_EQ(s.closes, 1);
}
TEST_F(ByteStreamDuplex, EndsWithTheReasonOfAReadThatFails) {
  run(failed_read, &fails_to_read, "the modem?hung up");
  run(failed_read, &throws_in_read, "the byte stream threw an exception: no carrier");
  run(failed_read, &throws_at_once, "the byte stream threw an exception: no dial tone");
  run(failed_read, &reads_too_much, "the byte stream read more than it had room for");
}

task<status> fails_to_write(script&, bytes_view) { co_return status::unavailable("line noise"); }
task<status> throws_in_write(script&, bytes_view) { throw std::runtime_error("line noise"); }
task<> failed_write(task<status> (*write)(script&, bytes_view)) {
  script s;
  s.write = write;
  recorder r(duplex_over(s));
  EXPECT_TRUE(r.send("x"));
  co_await r.until_sent(1);
  EXPECT_EQ(r.sends.front(), -ECONNRESET);
  EXPECT_NE(r.line->end_reason().find("line noise"), std::string_view::npos);
  EXPECT_TRUE(r.send("again"));
  co_await r.until_sent(2);
  EXPECT_EQ(r.sends.back(), -ECONNRESET);
  EXPECT_EQ(s.writes_begun, 1) << "after a write that failed there is no other";
  r.line->shutdown_send();
  co_await sleep_for(1ms);
  EXPECT_EQ(s.ends, 0);
  co_await r.closed_down();
}
TEST_F(ByteStreamDuplex, WritesNothingMoreAfterAWriteThatFails) {
  run(failed_write, &fails_to_write);
  run(failed_write, &throws_in_write);
}

// --- streams of the library

task<> moved_stream() {
  EXPECT_THROW((void)to_byte_stream(stream()), usage_error);
  stream_pair pair = co_await connected_pair();
  const address peer = pair.client.peer_address();
  const std::unique_ptr<byte_stream> s = to_byte_stream(std::move(pair.client));
  EXPECT_EQ(s->peer_address(), peer);
  // It is a byte_stream like any other for a wrapper of the user's.
  const std::string hello = "hello";
  EXPECT_EQ(co_await s->write(as_bytes(hello)), status());
  EXPECT_EQ(co_await s->shutdown_send(), status());
  EXPECT_EQ(co_await read_text(pair.server, 100), hello);
  EXPECT_EQ(co_await write_text(pair.server, "back"), status());
  std::uint8_t room[10];
  const result<std::size_t> n = co_await s->read(room);
  EXPECT_EQ(n.value(), 4u);
  s->close(false);
}
TEST_F(ByteStreamDuplex, AStreamOfTheLibraryIsAByteStream) { run(moved_stream); }

TEST(ByteStreamOfAnotherLoop, IsRefused) {
  any_world world(world_kind::epoll, 2);
  ASSERT_TRUE(world.get()) << world.missing();
  runtime& rt = *world.get();
  struct program {
    static task<stream> make() {
      stream_pair pair = co_await connected_pair();
      co_return std::move(pair.client);
    }
    static task<status> use(stream s) {
      co_return make_duplex(*loop::current(), to_byte_stream(std::move(s))).status();
    }
  };
  stream s = sync_wait(rt, rt.at(0), program::make());
  EXPECT_EQ(sync_wait(rt, rt.at(1), program::use(std::move(s))),
            status::unavailable("the stream belongs to another loop"));
}

}  // namespace
}  // namespace coracle::net::byte_stream_duplex_test
