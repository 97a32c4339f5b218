// trace: the events of a simulated world, as one hash, and the last of them in readable form.
#pragma once

#include "coracle/base/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace coracle::sim {

// Events that are visible to the programs inside; not turns or posts, which a change of the runtime may
// shift. The content of bytes is omitted, because ciphertext may differ from run to run.
enum class event_kind : std::uint8_t {
  connect,
  accept,
  refuse,
  bytes,
  end,
  reset,
  close,
  timer,
  signal,
  lost,
  timed_out,
  blackholed,
  refused_no_resources,  // errno: ENOBUFS, EMFILE
  partition,
  heal,
  crash,
  start,
  clock_jump,
};

class trace {
 public:
  // `source` is a socket, a loop or a host; `amount` is bytes, a port, an errno or the other host.
  void add(time_point when, event_kind type, std::uint64_t source, std::uint64_t amount = 0) {
    ++count_;
    mix(static_cast<std::uint64_t>(when.time_since_epoch().count()));
    mix(static_cast<std::uint64_t>(type));
    mix(source);
    mix(amount);
    if (kept_max_ > 0) keep({when, type, source, amount});
  }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  // Keeps the last n events.
  void keep_last(std::size_t n) noexcept { kept_max_ = n; }
  // One per line, with the time since `start`.
  [[nodiscard]] std::vector<std::string> last(time_point start) const;

 private:
  struct entry {
    time_point when;
    event_kind type;
    std::uint64_t source;
    std::uint64_t amount;
  };
  void keep(const entry& e);
  void mix(std::uint64_t word) noexcept {
    hash_ = (hash_ ^ word) * 0x9fb21c651e98df25u;
    hash_ ^= hash_ >> 32;
  }
  std::uint64_t hash_ = 0x6a09e667f3bcc908u;
  std::uint64_t count_ = 0;
  std::size_t kept_max_ = 0;
  std::deque<entry> kept_;
};

}  // namespace coracle::sim
