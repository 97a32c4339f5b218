// Reads raced against timers: a read that ends early has taken nothing.
#include "support/every_backend.hpp"
#include "unit/net/connection.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_any.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace coracle::net {
namespace {

using namespace std::chrono_literals;
using testing_support::all_kinds;
using testing_support::every_backend;
using testing_support::world_kind;

constexpr int races = 10'000;

task<> nap(duration d) { co_await sleep_for(d); }

class lengths {
 public:
  explicit lengths(unsigned seed) : random_(seed) {}
  duration draw() { return std::chrono::nanoseconds(below(20'000)); }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_()) % n; }

 private:
  std::minstd_rand random_;
};

struct bytes_seen {
  int won = 0;
  int lost = 0;
  std::size_t bytes = 0;
};

// Each byte is its place in the row.
task<> write_row(stream& to, const bool& enough) {
  lengths drawn(1);
  std::vector<std::uint8_t> row;
  std::size_t at = 0;
  while (!enough) {
    co_await nap(drawn.draw());
    row.clear();
    for (std::size_t n = 1 + drawn.below(40); n != 0; --n) row.push_back(static_cast<std::uint8_t>(at++));
    const status s = co_await to.write(row);
    EXPECT_TRUE(s.ok());
  }
  to.shutdown_send();
}

task<> read_row(stream& from, bytes_seen& seen, bool& enough) {
  lengths drawn(2);
  std::array<std::uint8_t, 64> into{};
  for (;;) {
    enough = seen.won + seen.lost >= races;
    auto first = co_await when_any_settled(from.read(into), nap(drawn.draw()));
    const result<std::size_t> n =
        first.ok<0>() ? std::move(first).get<0>() : status::cancelled("never started");
    if (!n) {
      EXPECT_EQ(n.status().code(), status_code::cancelled);
      ++seen.lost;
      continue;
    }
    if (*n == 0) co_return;
    ++seen.won;
    for (std::size_t i = 0; i != *n; ++i) EXPECT_EQ(into[i], static_cast<std::uint8_t>(seen.bytes++));
  }
}

task<bytes_seen> race_reads() {
  stream_pair both = co_await connected_pair();
  bytes_seen seen;
  bool enough = false;
  co_await when_all(write_row(both.client, enough), read_row(both.server, seen, enough));
  co_return seen;
}

class ReadRace : public every_backend {};

TEST_P(ReadRace, EveryByteIsSeenOnceAndInOrder) {
  const bytes_seen seen = run(race_reads());
  EXPECT_GE(seen.won + seen.lost, races);
  if (GetParam() != world_kind::sim) return;
  EXPECT_GT(seen.won, races / 100);
  EXPECT_GT(seen.lost, races / 100);
}

INSTANTIATE_TEST_SUITE_P(On, ReadRace, all_kinds, ReadRace::case_name);

}  // namespace
}  // namespace coracle::net
