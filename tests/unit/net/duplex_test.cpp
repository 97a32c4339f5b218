// The contract of net::duplex, over sockets of every backend, over memory on one loop, and over the
// coroutines of a byte_stream.
#include "net/duplex.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_all.hpp"
#include "net/acceptor.hpp"
#include "net/byte_stream_duplex.hpp"
#include "net/memory_duplex.hpp"
#include "net/socket_duplex.hpp"
#include "support/every_backend.hpp"
#include "support/shuffled_stream.hpp"
#include "unit/net/connection.hpp"
#include "unit/net/recorder.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace coracle::net::duplex_test {
namespace {

using namespace std::chrono_literals;
using testing_support::world_kind;

enum class carrier { socket, memory, coroutines, stream };
struct line_kind {
  world_kind world;
  carrier over;
};
void PrintTo(const line_kind& k, std::ostream* out) {
  const char* const names[] = {"_socket", "_memory", "_coroutines", "_stream"};
  *out << name_of(k.world) << names[static_cast<int>(k.over)];
}

class ends {
 public:
  ends(std::unique_ptr<duplex> a, std::unique_ptr<duplex> b) : left(std::move(a)), right(std::move(b)) {}
  recorder left;
  recorder right;
};
using ends_ptr = std::unique_ptr<ends>;

class taken_handle final : public acceptor_sink {
 public:
  event<> changed;
  runtime_internal::handle handle = runtime_internal::no_handle;

 private:
  void accepted(runtime_internal::handle connection) noexcept override {
    handle = connection;
    changed.set();
  }
  void accept_failed(status reason) noexcept override { ADD_FAILURE() << reason; }
  void closed() noexcept override { changed.set(); }
};

task<ends_ptr> socket_ends() {
  loop& here = *loop::current();
  taken_handle taken;
  const std::unique_ptr<acceptor> a = acceptor::open(here, address::loopback_v4(0)).value();
  a->start(taken);
  std::unique_ptr<duplex> left = (co_await connect_duplex(a->local_address())).value();
  co_await taken.changed;
  taken.changed.reset();
  a->close();
  co_await taken.changed;
  co_return std::make_unique<ends>(std::move(left), make_socket_duplex(here, taken.handle));
}

task<ends_ptr> memory_ends() {
  auto pair = make_memory_duplex_pair(*loop::current(), *loop::current());
  co_return std::make_unique<ends>(std::move(pair.first), std::move(pair.second));
}

std::unique_ptr<duplex> over_coroutines(stream s) {
  return make_duplex(*loop::current(), std::make_unique<testing_support::shuffled_stream>(std::move(s)))
      .value();
}

task<ends_ptr> coroutine_ends() {
  stream_pair pair = co_await connected_pair();
  co_return std::make_unique<ends>(over_coroutines(std::move(pair.client)),
                                   over_coroutines(std::move(pair.server)));
}

task<ends_ptr> stream_ends() {
  stream_pair pair = co_await connected_pair();
  loop& here = *loop::current();
  co_return std::make_unique<ends>(make_duplex(here, to_byte_stream(std::move(pair.client))).value(),
                                   make_duplex(here, to_byte_stream(std::move(pair.server))).value());
}

class Duplex : public testing::TestWithParam<line_kind> {
 public:
  static std::string case_name(const testing::TestParamInfo<line_kind>& info) {
    return testing::PrintToString(info.param);
  }

 protected:
  using body = task<> (*)(ends&);
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
  }
  static task<> both(carrier over, body test) {
    ends_ptr pair;
    switch (over) {
      case carrier::socket: pair = co_await socket_ends(); break;
      case carrier::memory: pair = co_await memory_ends(); break;
      case carrier::coroutines: pair = co_await coroutine_ends(); break;
      case carrier::stream: pair = co_await stream_ends(); break;
    }
    co_await test(*pair);
    if (pair->left.line) co_await pair->left.closed_down();
    if (pair->right.line) co_await pair->right.closed_down();
  }
  void run(body test) { sync_wait(*world_.get(), world_.get()->at(0), both(GetParam().over, test)); }

 private:
  testing_support::any_world world_{GetParam().world};
};
INSTANTIATE_TEST_SUITE_P(Over, Duplex,
                         testing::Values(line_kind{world_kind::io_uring, carrier::socket},
                                         line_kind{world_kind::epoll, carrier::socket},
                                         line_kind{world_kind::sim, carrier::socket},
                                         line_kind{world_kind::epoll, carrier::memory},
                                         line_kind{world_kind::sim, carrier::memory},
                                         line_kind{world_kind::io_uring, carrier::coroutines},
                                         line_kind{world_kind::epoll, carrier::coroutines},
                                         line_kind{world_kind::sim, carrier::coroutines},
                                         line_kind{world_kind::io_uring, carrier::stream},
                                         line_kind{world_kind::sim, carrier::stream}),
                         Duplex::case_name);

task<> hello(ends& e) {
  EXPECT_TRUE(e.left.send("hello"));
  EXPECT_TRUE(e.left.line->sending());
  co_await e.right.until_size(5);
  EXPECT_EQ(e.right.text, "hello");
  co_await e.left.until_sent(1);
  EXPECT_EQ(e.left.sends, std::vector<std::int64_t>{5});
  EXPECT_TRUE(e.right.send("and back"));
  co_await e.left.until_size(8);
  EXPECT_EQ(e.left.text, "and back");
}
TEST_P(Duplex, CarriesBytesBothWays) { run(hello); }

task<> pieces(ends& e) {
  const duplex::piece three[] = {{"one ", 4}, {"", 0}, {"two", 3}};
  EXPECT_TRUE(e.left.line->send(three));
  co_await e.left.until_sent(1);
  EXPECT_EQ(e.left.sends.front(), 7);
  co_await e.right.until_size(7);
  EXPECT_EQ(e.right.text, "one two");
}
TEST_P(Duplex, SendsPiecesInOrder) { run(pieces); }

task<> half_close(ends& e) {
  EXPECT_TRUE(e.left.send("last words"));
  e.left.line->shutdown_send();  // behind what is being sent
  EXPECT_FALSE(e.left.send("too late"));
  co_await e.right.until_end();
  EXPECT_EQ(e.right.text, "last words");
  EXPECT_EQ(*e.right.end, 0);
  EXPECT_TRUE(e.right.send("answer"));
  co_await e.left.until_size(6);
  e.right.line->shutdown_send();
  co_await e.left.until_end();
  EXPECT_EQ(*e.left.end, 0);
  EXPECT_EQ(e.left.sends, std::vector<std::int64_t>{10});
}
TEST_P(Duplex, EachDirectionEndsOnItsOwn) { run(half_close); }

// More than any kernel buffers on loopback.
constexpr std::size_t bulk_bytes = 24 << 20;

task<> backpressure(ends& e) {
  const std::string text = pattern(bulk_bytes, 1);
  e.right.pause();
  EXPECT_TRUE(e.left.send(text));
  co_await sleep_for(20ms);  // sleeps on purpose: time in which nothing may happen
  EXPECT_TRUE(e.left.sends.empty()) << "a send ends only when its bytes are on their way";
  EXPECT_TRUE(e.right.text.empty());
  e.right.resume();
  co_await e.left.until_sent(1);
  co_await e.right.until_size(text.size());
  EXPECT_TRUE(e.right.text == text);
}
TEST_P(Duplex, AReaderThatPausesHoldsTheSender) { run(backpressure); }

task<> pause_in_the_middle(ends& e) {
  const std::string text = pattern(4 << 20, 2);
  int pauses = 0;
  e.right.on_received = [&] {
    if (++pauses % 3 == 0) e.right.pause();
  };
  EXPECT_TRUE(e.left.send(text));
  while (e.right.text.size() < text.size()) {
    co_await e.right.until([&] { return e.right.paused || e.right.text.size() >= text.size(); });
    if (!e.right.paused) break;
    co_await sleep_for(10us);  // sleeps on purpose: more arrives meanwhile
    e.right.resume();
  }
  EXPECT_TRUE(e.right.text == text);
  e.right.on_received = [] {};
}
TEST_P(Duplex, PausesFromInsideReceived) { run(pause_in_the_middle); }

task<> paused_end(ends& e) {
  e.right.pause();
  EXPECT_TRUE(e.left.send("x"));
  e.left.line->shutdown_send();
  co_await sleep_for(2ms);  // sleeps on purpose: time in which nothing may happen
  EXPECT_FALSE(e.right.end);
  e.right.resume();
  co_await e.right.until_end();
  EXPECT_EQ(e.right.text, "x");
}
TEST_P(Duplex, ThePeersEndWaitsForAPausedReader) { run(paused_end); }

task<> close_while_sending(ends& e) {
  const std::string text = pattern(bulk_bytes, 3);
  e.right.pause();
  EXPECT_TRUE(e.left.send(text));
  co_await sleep_for(2ms);  // sleeps on purpose: the buffers fill up
  co_await e.left.closed_down();
  EXPECT_EQ(e.left.sends, std::vector<std::int64_t>{-ECANCELED});
  EXPECT_FALSE(e.left.end);
}
TEST_P(Duplex, ClosingCutsASendShortAndSaysSo) { run(close_while_sending); }

task<> close_reaches_the_peer(ends& e) {
  EXPECT_TRUE(e.left.send("bye"));
  co_await e.left.until_sent(1);
  co_await e.left.closed_down();
  co_await e.right.until_end();
  EXPECT_EQ(*e.right.end, 0);
  EXPECT_EQ(e.right.text, "bye");
  // A kernel may accept a first send or two before the peer's reset arrives.
  for (std::size_t tries = 1; e.right.sends.empty() || e.right.sends.back() > 0; ++tries) {
    EXPECT_LT(tries, 100u);
    EXPECT_TRUE(e.right.send("anyone?"));
    co_await e.right.until_sent(tries);
    co_await sleep_for(200us);  // sleeps on purpose: the reset travels
  }
  EXPECT_TRUE(e.right.sends.back() == -EPIPE || e.right.sends.back() == -ECONNRESET);
}
TEST_P(Duplex, AProperCloseIsAnEndForThePeer) { run(close_reaches_the_peer); }

task<> abort(ends& e) {
  co_await e.left.closed_down(true);
  co_await e.right.until_end();
  EXPECT_EQ(*e.right.end, -ECONNRESET);
}
TEST_P(Duplex, AnAbortIsAResetForThePeer) { run(abort); }

task<> both_close(ends& e) {
  e.left.close();
  e.right.close();
  EXPECT_FALSE(e.left.send("x"));
  e.left.close(true);  // again: nothing changes
  co_await e.left.until([&] { return e.left.is_closed; });
  co_await e.right.until([&] { return e.right.is_closed; });
  EXPECT_FALSE(e.left.end || e.right.end) << "nothing follows close() but closed()";
  e.left.line.reset();
  e.right.line.reset();
}
TEST_P(Duplex, BothMayCloseAtOnce) { run(both_close); }

task<> close_from_inside(ends& e) {
  e.right.on_received = [&] { e.right.line->close(); };
  EXPECT_TRUE(e.left.send(std::string_view("first")));
  co_await e.right.until([&] { return e.right.is_closed; });
  e.right.line.reset();
  co_await e.left.until_end();
}
TEST_P(Duplex, MayBeClosedFromInsideReceived) { run(close_from_inside); }

task<> echo(recorder& r, std::size_t total, bool& ready) {
  // Replies to each chunk before it takes the next, as the in-process transport does.
  std::string held;
  std::size_t done = 0;
  while (done < total) {
    co_await r.until([&] { return !r.text.empty(); });
    held.swap(r.text);
    r.text.clear();
    const std::size_t sends = r.sends.size();
    EXPECT_TRUE(r.send(held));
    co_await r.until_sent(sends + 1);
    done += held.size();
    held.clear();
  }
  ready = true;
}
task<> ask(recorder& r, const std::string& text) {
  EXPECT_TRUE(r.send(text));
  co_await r.until_size(text.size());
  EXPECT_TRUE(r.text == text);
}
task<> bulk_echo(ends& e) {
  const std::string text = pattern(4 << 20, 5);
  bool ready = false;
  co_await when_all(echo(e.right, text.size(), ready), ask(e.left, text));
  EXPECT_TRUE(ready);
}
TEST_P(Duplex, MovesMegabytesBothWaysAtOnce) { run(bulk_echo); }

task<> an_empty_send(ends& e) {
  EXPECT_TRUE(e.left.send(""));
  co_await e.left.until_sent(1);
  EXPECT_EQ(e.left.sends.front(), 0);
}
TEST_P(Duplex, AnEmptySendIsDone) { run(an_empty_send); }

}  // namespace
}  // namespace coracle::net::duplex_test
