// sim::faults: what may go wrong in a simulated world, and how often.
#pragma once

#include "coracle/base/clock.hpp"

#include <chrono>
#include <type_traits>

namespace coracle::sim {

// Each fault has a chance (0: never, 1: always) or a mean interval (0: not at all); all are off by
// default. The world's seed draws which of them happen, when and to whom. Connections keep their promise:
// within one, bytes arrive in order or not at all; events of different connections overtake each other.
class faults {
 public:
  faults() noexcept {}

  // --- on the way. The chances are those of one packet: what one send put on the wire.
  // Takes up to so much longer.
  faults& jitter(duration up_to) noexcept { return jitter_ = up_to, *this; }
  // Is lost. A connection sends it again, 200 ms later and then twice as late each time; a datagram is gone.
  faults& packet_loss(double chance) noexcept { return packet_loss_ = chance, *this; }
  // A datagram arrives twice.
  faults& duplicates(double chance) noexcept { return duplicates_ = chance, *this; }
  // The connection is reset on both sides, and the packet lost.
  faults& resets(double chance) noexcept { return resets_ = chance, *this; }
  // The connection falls silent for good: nothing arrives any more on either side, and no reset. Whoever has sent
  // something hears ETIMEDOUT after `silence_noticed_after`; whoever only waits never does.
  faults& silences(double chance) noexcept { return silences_ = chance, *this; }

  // --- at a socket
  // A read gives fewer bytes than it could.
  faults& short_reads(double chance) noexcept { return short_reads_ = chance, *this; }
  // The socket takes only a part of a send, cut at any byte; the rest follows later.
  faults& short_writes(double chance) noexcept { return short_writes_ = chance, *this; }
  // A send fails with ENOBUFS, nothing of it sent.
  faults& no_buffers(double chance) noexcept { return no_buffers_ = chance, *this; }
  // Making or accepting a socket fails with EMFILE. Listeners and sources of signals are spared.
  faults& no_descriptors(double chance) noexcept { return no_descriptors_ = chance, *this; }
  // A connection that is established reaches the listener's queue late.
  faults& slow_accepts(double chance, duration up_to) noexcept {
    slow_accepts_ = chance;
    slow_accept_ = up_to;
    return *this;
  }

  // --- from time to time, as long as something else is left to happen in the world
  // Two hosts lose sight of each other, and find it again later.
  faults& partitions(duration every, duration up_to) noexcept {
    partition_every_ = every;
    partition_ = up_to;
    return *this;
  }
  // A host that was given its program by world::start() crashes, and starts again later.
  faults& crashes(duration every, duration down_up_to) noexcept {
    crash_every_ = every;
    down_ = down_up_to;
    return *this;
  }
  // A host's wall clock jumps, forward or back.
  faults& clock_jumps(duration every, duration up_to) noexcept {
    clock_jump_every_ = every;
    clock_jump_ = up_to;
    return *this;
  }

  // What a good network does on a bad day: nothing fails, but time and the cut of bytes are everyone's guess.
  [[nodiscard]] static faults mild() noexcept {
    using namespace std::chrono_literals;
    return faults().jitter(2ms).packet_loss(0.01).short_reads(0.2).short_writes(0.2).slow_accepts(0.2, 20ms);
  }
  // All of them, often enough that a minute sees most.
  [[nodiscard]] static faults everything() noexcept {
    using namespace std::chrono_literals;
    return mild()
        .duplicates(0.02)
        .resets(0.004)
        .silences(0.001)
        .no_buffers(0.002)
        .no_descriptors(0.02)
        .partitions(20s, 10s)
        .crashes(30s, 5s)
        .clock_jumps(10s, 1h);
  }

  [[nodiscard]] duration jitter() const noexcept { return jitter_; }
  [[nodiscard]] double packet_loss() const noexcept { return packet_loss_; }
  [[nodiscard]] double duplicates() const noexcept { return duplicates_; }
  [[nodiscard]] double resets() const noexcept { return resets_; }
  [[nodiscard]] double silences() const noexcept { return silences_; }
  [[nodiscard]] double short_reads() const noexcept { return short_reads_; }
  [[nodiscard]] double short_writes() const noexcept { return short_writes_; }
  [[nodiscard]] double no_buffers() const noexcept { return no_buffers_; }
  [[nodiscard]] double no_descriptors() const noexcept { return no_descriptors_; }
  [[nodiscard]] double slow_accepts() const noexcept { return slow_accepts_; }
  [[nodiscard]] duration slow_accept() const noexcept { return slow_accept_; }
  [[nodiscard]] duration partition_every() const noexcept { return partition_every_; }
  [[nodiscard]] duration partition() const noexcept { return partition_; }
  [[nodiscard]] duration crash_every() const noexcept { return crash_every_; }
  [[nodiscard]] duration down() const noexcept { return down_; }
  [[nodiscard]] duration clock_jump_every() const noexcept { return clock_jump_every_; }
  [[nodiscard]] duration clock_jump() const noexcept { return clock_jump_; }

 private:
  duration jitter_{};
  double packet_loss_ = 0;
  double duplicates_ = 0;
  double resets_ = 0;
  double silences_ = 0;
  double short_reads_ = 0;
  double short_writes_ = 0;
  double no_buffers_ = 0;
  double no_descriptors_ = 0;
  double slow_accepts_ = 0;
  duration slow_accept_{};
  duration partition_every_{};
  duration partition_{};
  duration crash_every_{};
  duration down_{};
  duration clock_jump_every_{};
  duration clock_jump_{};
};
static_assert(!std::is_aggregate_v<faults>, "GCC 12 destroys aggregates in co_await expressions twice");

// As Linux: data that stays unacknowledged for so long ends its connection (tcp_retries2 = 15).
inline constexpr duration silence_noticed_after = std::chrono::seconds(924);

}  // namespace coracle::sim
