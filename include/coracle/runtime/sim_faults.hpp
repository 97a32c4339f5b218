// sim::faults: what can go wrong in a simulated world, and how often.
#pragma once

#include "coracle/base/clock.hpp"

#include <chrono>
#include <type_traits>

namespace coracle::sim {

/// The faults of a simulated world. Each fault has a probability (0: never, 1: always) or a mean interval (0:
/// never); all are off by default. The world's seed determines which of them happen, when and where.
/// Connections stay reliable: within a connection, bytes arrive in order or not at all; events of different
/// connections may overtake each other.
class faults {
 public:
  /// No faults.
  faults() noexcept {}

  // --- In transit. The probabilities apply to each packet, that is, to what one send put on the wire.
  /// Delays a packet by up to `up_to`.
  faults& jitter(duration up_to) noexcept { return jitter_ = up_to, *this; }
  /// Loses a packet. A connection retransmits it after 200 ms, and doubles the delay each time; a datagram is
  /// gone.
  faults& packet_loss(double chance) noexcept { return packet_loss_ = chance, *this; }
  /// Delivers a datagram twice.
  faults& duplicates(double chance) noexcept { return duplicates_ = chance, *this; }
  /// Resets the connection on both sides; the packet is lost.
  faults& resets(double chance) noexcept { return resets_ = chance, *this; }
  /// Blackholes the connection: from now on nothing arrives on either side, not even a reset. A side that has
  /// sent data gets ETIMEDOUT after `blackhole_timeout`; a side that only waits gets no error.
  faults& blackholes(double chance) noexcept { return blackholes_ = chance, *this; }

  // --- At a socket.
  /// A read returns fewer bytes than it could.
  faults& short_reads(double chance) noexcept { return short_reads_ = chance, *this; }
  /// The socket accepts only a part of a send, cut at any byte; the rest follows later.
  faults& short_writes(double chance) noexcept { return short_writes_ = chance, *this; }
  /// A send fails with ENOBUFS, and none of it is sent.
  faults& no_buffers(double chance) noexcept { return no_buffers_ = chance, *this; }
  /// Making or accepting a socket fails with EMFILE. Listeners and signal sources are exempt.
  faults& no_descriptors(double chance) noexcept { return no_descriptors_ = chance, *this; }
  /// An established connection reaches the listener's queue late.
  faults& slow_accepts(double chance, duration up_to) noexcept {
    slow_accepts_ = chance;
    slow_accept_ = up_to;
    return *this;
  }

  // --- At intervals, as long as anything else is left to happen in the world.
  /// Separates two hosts for a time of at most `up_to`.
  faults& partitions(duration every, duration up_to) noexcept {
    partition_every_ = every;
    partition_ = up_to;
    return *this;
  }
  /// Crashes a host that has a program (world::start()), and restarts it after at most `down_up_to`.
  faults& crashes(duration every, duration down_up_to) noexcept {
    crash_every_ = every;
    down_ = down_up_to;
    return *this;
  }
  /// Moves the wall clock of a host, forwards or backwards, by at most `up_to`.
  faults& clock_jumps(duration every, duration up_to) noexcept {
    clock_jump_every_ = every;
    clock_jump_ = up_to;
    return *this;
  }

  /// Returns the faults of a good network on a bad day: nothing fails, but delays and the boundaries of reads
  /// and writes vary.
  [[nodiscard]] static faults mild() noexcept {
    using namespace std::chrono_literals;
    return faults().jitter(2ms).packet_loss(0.01).short_reads(0.2).short_writes(0.2).slow_accepts(0.2, 20ms);
  }
  /// Returns all faults, with rates at which most of them occur within a minute.
  [[nodiscard]] static faults everything() noexcept {
    using namespace std::chrono_literals;
    return mild()
        .duplicates(0.02)
        .resets(0.004)
        .blackholes(0.001)
        .no_buffers(0.002)
        .no_descriptors(0.02)
        .partitions(20s, 10s)
        .crashes(30s, 5s)
        .clock_jumps(10s, 1h);
  }

  /// @{
  /// Returns what was set; for faults at intervals, the mean interval and the longest time.
  [[nodiscard]] duration jitter() const noexcept { return jitter_; }
  [[nodiscard]] double packet_loss() const noexcept { return packet_loss_; }
  [[nodiscard]] double duplicates() const noexcept { return duplicates_; }
  [[nodiscard]] double resets() const noexcept { return resets_; }
  [[nodiscard]] double blackholes() const noexcept { return blackholes_; }
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
  /// @}

 private:
  duration jitter_{};
  double packet_loss_ = 0;
  double duplicates_ = 0;
  double resets_ = 0;
  double blackholes_ = 0;
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

/// The time after which a connection ends when its data stays unacknowledged, as on Linux (tcp_retries2 =
/// 15).
inline constexpr duration blackhole_timeout = std::chrono::seconds(924);

}  // namespace coracle::sim
