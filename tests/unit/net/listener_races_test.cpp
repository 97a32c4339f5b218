// Waits for connections and lines raced against timers: a cancelled wait has taken none.
#include "coracle/coro/when_any.hpp"
#include "coracle/net/line_reader.hpp"
#include "unit/net/connection.hpp"
#include "unit/runtime/cancellation_races.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <utility>

namespace coracle::net::listener_races_test {
namespace {

using testing_support::lengths;
using testing_support::nap;
using testing_support::score;

constexpr int arrivals = 1'000;
constexpr unsigned below_ns = 40'000;

class arrival_races : public testing_support::cancellation_races {};
INSTANTIATE_TEST_SUITE_P(On, arrival_races, testing_support::all_cancellation_races,
                         arrival_races::case_name);

struct callers {
  // One after the other, each with its number, which is sent back when it was accepted.
  static task<> call(address to, std::atomic<bool>& all) {
    lengths drawn(61, below_ns);
    for (int n = 0; n != arrivals; ++n) {
      co_await nap(drawn.draw());
      result<stream> connected = co_await stream::connect(to);
      stream s = std::move(connected).value();
      const std::string number = std::to_string(100'000 + n);
      const status sent = co_await write_text(s, number);
      EXPECT_TRUE(sent.ok()) << sent;
      const std::string back = co_await read_text(s, number.size());
      EXPECT_EQ(back, number);
      if (back != number) break;
    }
    all = true;
  }
  static task<> answer(stream s, int expected) {
    const std::string number = co_await read_text(s, 6);
    EXPECT_EQ(number, std::to_string(100'000 + expected));
    const status sent = co_await write_text(s, number);
    EXPECT_TRUE(sent.ok()) << sent;
  }
  static task<> accept(loop& others, score& mine) {
    lengths drawn(62, below_ns);
    listener at = listener::open(address::loopback_v4(0)).value();
    std::atomic<bool> all{false};
    others.owner().spawn_on(others, call(at.local_address(), all));
    while (!all) {
      auto first = co_await when_any_settled(at.accept(), nap(drawn.draw()));
      result<stream> accepted =
          first.ok<0>() ? std::move(first).get<0>() : status::cancelled("never started");
      if (accepted.ok()) {
        co_await answer(*std::move(accepted), mine.won++);
        continue;
      }
      EXPECT_EQ(accepted.status().code(), status_code::cancelled);
      ++mine.lost;
    }
    co_await at.close();
  }
};

TEST_P(arrival_races, NoConnectionIsLost) {
  score s;
  rt().spawn_on(here(), callers::accept(there(), s));
  rt().run();
  EXPECT_EQ(s.won, arrivals);
  expect_both_happened(s, arrivals);
}

struct letters {
  // In pieces of any size, whatever line they belong to.
  static task<> write(stream& to, const score& others, int& lines) {
    lengths drawn(71, below_ns);
    std::string text;
    while (!others.done) {
      for (unsigned n = drawn.below(4); n != 0; --n) text.append(std::to_string(lines++)).append("\n");
      const std::string piece = text.substr(0, drawn.below(12));
      text.erase(0, piece.size());
      co_await nap(drawn.draw());
      const status sent = co_await write_text(to, piece);
      EXPECT_TRUE(sent.ok()) << sent;
    }
    const status sent = co_await write_text(to, text);
    EXPECT_TRUE(sent.ok()) << sent;
    to.shutdown_send();
  }
  static task<> read(stream& from, score& mine) {
    lengths drawn(72, below_ns);
    line_reader lines(from);
    for (;;) {
      if (mine.total() >= arrivals) mine.done = true;
      auto first = co_await when_any_settled(lines.next(), nap(drawn.draw()));
      result<std::optional<std::string>> line =
          first.ok<0>() ? std::move(first).get<0>() : status::cancelled("never started");
      if (!line.ok()) {
        EXPECT_EQ(line.status().code(), status_code::cancelled);
        ++mine.lost;
        continue;
      }
      if (!*line) co_return;
      EXPECT_EQ(**line, std::to_string(mine.won++));
    }
  }
  static task<> run(score& mine, int& written) {
    stream_pair both = co_await connected_pair();
    co_await when_all(write(both.client, mine, written), read(both.server, mine));
  }
};

class line_races : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, line_races, testing_support::all_kinds, line_races::case_name);

TEST_P(line_races, NoLineIsLost) {
  score s;
  int written = 0;
  run(letters::run(s, written));
  EXPECT_EQ(s.won, written);
  EXPECT_GE(s.total(), arrivals);
}

}  // namespace
}  // namespace coracle::net::listener_races_test
