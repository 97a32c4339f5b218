// Reads raced against timers: a read that ends early has taken nothing.
#include "support/every_backend.hpp"
#include "unit/net/connection.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_any.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace coracle::net::stream_read_race_test {
namespace {

using testing_support::all_kinds;
using testing_support::every_backend;

constexpr int races = 10'000;
constexpr int of_each_outcome = races / 100;
// If one outcome does not occur in that many races, the test reports it.
constexpr int races_max = 50 * races;

task<> nap(duration d) { co_await sleep_for(d); }

// From almost nothing to far more than a path through the kernel: every machine sees both outcomes in that
// range.
class lengths {
 public:
  explicit lengths(unsigned seed) : random_(seed) {}
  duration draw() { return std::chrono::nanoseconds(1 + below(std::size_t{1} << below(19))); }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_()) % n; }

 private:
  std::minstd_rand random_;
};

struct outcomes {
  int won = 0;
  int lost = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t read_bytes = 0;
  [[nodiscard]] bool enough() const noexcept {
    if (won + lost >= races_max) return true;
    return won + lost >= races && won >= of_each_outcome && lost >= of_each_outcome;
  }
};

// The sequence of bytes is that of the numbers from 0 on, each in eight bytes.
std::uint8_t byte_at(std::uint64_t place) {
  return static_cast<std::uint8_t>((place / 8) >> (place % 8 * 8));
}

task<> write_row(stream& to, outcomes& seen) {
  lengths drawn(1);
  std::vector<std::uint8_t> row;
  while (!seen.enough()) {
    co_await nap(drawn.draw());
    row.clear();
    for (std::size_t n = 8 * (1 + drawn.below(5)); n != 0; --n) row.push_back(byte_at(seen.written_bytes++));
    const status s = co_await to.write(row);
    EXPECT_TRUE(s.ok());
  }
  to.shutdown_send();
}

// Reads the bytes in pieces of any size, to the end of the stream.
task<> read_row(stream& from, outcomes& seen) {
  lengths drawn(2);
  std::array<std::uint8_t, 64> room{};
  std::uint64_t wrong = 0;
  for (;;) {
    const mutable_bytes into = mutable_bytes(room).first(1 + drawn.below(room.size()));
    auto first = co_await when_any_settled(from.read(into), nap(drawn.draw()));
    const result<std::size_t> n =
        first.ok<0>() ? std::move(first).get<0>() : status::cancelled("never started");
    if (!n) {
      EXPECT_EQ(n.status().code(), status_code::cancelled);
      ++seen.lost;
      continue;
    }
    if (*n == 0) break;
    ++seen.won;
    for (std::size_t i = 0; i != *n; ++i) wrong += into[i] != byte_at(seen.read_bytes++);
  }
  EXPECT_EQ(wrong, 0u) << "bytes that are not those of their place";
}

task<outcomes> race_reads() {
  stream_pair both = co_await connected_pair();
  outcomes seen;
  co_await when_all(write_row(both.client, seen), read_row(both.server, seen));
  co_return seen;
}

class ReadRace : public every_backend {};
INSTANTIATE_TEST_SUITE_P(On, ReadRace, all_kinds, ReadRace::case_name);

TEST_P(ReadRace, EveryByteIsSeenOnceAndInOrder) {
  const outcomes seen = run(race_reads());
  EXPECT_EQ(seen.read_bytes, seen.written_bytes);
  EXPECT_GE(seen.won + seen.lost, races);
  EXPECT_GE(seen.won, of_each_outcome);
  EXPECT_GE(seen.lost, of_each_outcome);
  RecordProperty("won", seen.won);
  RecordProperty("lost", seen.lost);
}

}  // namespace
}  // namespace coracle::net::stream_read_race_test
