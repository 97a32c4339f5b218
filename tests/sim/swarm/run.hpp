// run: one scenario with one seed, and its result.
#pragma once

#include "sim/swarm/dice.hpp"

#include "coracle/base/log.hpp"
#include "coracle/runtime/sim.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::swarm {

// Faults make hosts log, which is expected here.
class silent_log final : public logger {
 public:
  silent_log() { set_min_level(log_level::error); }
  void record(log_level, std::string_view) noexcept override {}
};

using tallies = std::map<std::string, std::uint64_t, std::less<>>;

class run {
 public:
  run(std::uint64_t seed, std::size_t kept_events) noexcept : seed_(seed), kept_events_(kept_events) {}
  run(const run&) = delete;
  run& operator=(const run&) = delete;

  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] dice dice_for(std::uint64_t whose) const noexcept { return {seed_, whose}; }
  [[nodiscard]] sim::world_options world_options() {
    return sim::world_options{.keep_events = kept_events_, .log = &log_};
  }
  // An invariant was violated.
  void report_error(std::string text) { errors_.push_back(std::move(text)); }
  // An expected event occurred: a swarm that never sees an end of some kind proves nothing about it.
  void tally(std::string_view text) {
    const auto found = tallies_.find(text);
    if (found != tallies_.end()) ++found->second;
    else tallies_.emplace(text, 1);
  }
  // To be called at the end, before the end of the world.
  void note(const sim::world& w) {
    hash_ = w.trace_hash();
    events_ = w.trace_length();
    last_events_ = w.last_events();
    waiting_ = w.tasks();
  }

  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }
  [[nodiscard]] const std::vector<std::string>& errors() const noexcept { return errors_; }
  [[nodiscard]] const std::vector<std::string>& last_events() const noexcept { return last_events_; }
  // The tasks that were left then.
  [[nodiscard]] const std::string& waiting() const noexcept { return waiting_; }
  [[nodiscard]] const tallies& counted() const noexcept { return tallies_; }

 private:
  std::uint64_t seed_;
  std::size_t kept_events_;
  silent_log log_;
  std::uint64_t hash_ = 0;
  std::uint64_t events_ = 0;
  std::vector<std::string> errors_;
  std::vector<std::string> last_events_;
  std::string waiting_;
  tallies tallies_;
};

}  // namespace coracle::swarm
