// load_worker: the share of a run that belongs to one loop.
#pragma once

#include "tools/load/arrivals.hpp"
#include "tools/load/connection.hpp"
#include "tools/load/load_stats.hpp"
#include "tools/load/method_mix.hpp"
#include "tools/load/scenario.hpp"

#include <coracle/base/clock.hpp>
#include <coracle/coro/scope.hpp>
#include <coracle/coro/task.hpp>
#include <coracle/runtime/loop.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

namespace coracle::tools::load {

// Everything but the constructor runs on its loop, until its tasks have ended. Of what is numbered over the
// whole run (calls, users, arrivals) the i-th of n stations has the numbers i, i + n, i + 2n, ...
class load_worker {
 public:
  // The arguments must outlive this object.
  load_worker(const scenario& plan, const method_mix& methods, connector& to, std::vector<duration> bands,
              loop& on);

  // Makes the connections that the whole run uses; returns the first failure, or OK. Users make their own.
  [[nodiscard]] task<call_end> connect();
  // Runs until all its work is done. A stop ends it early and keeps what was counted until then.
  [[nodiscard]] task<> run(time_point begins);

  // Counts what the connections have carried since the last call as part of `second`, which is over.
  void second_passed(std::size_t second);

  [[nodiscard]] const load_stats& stats() const noexcept { return stats_; }
  [[nodiscard]] load_stats& stats() noexcept { return stats_; }
  // May be called from any thread.
  [[nodiscard]] time_point now() const noexcept;

 private:
  [[nodiscard]] std::uint64_t share_of(std::uint64_t whole) const noexcept;
  // Runs the calls over these connections, and adds what those have carried to the stats.
  [[nodiscard]] task<> counted(std::span<const std::unique_ptr<connection>> over, task<> calls);
  [[nodiscard]] task<> make_calls();
  // Runs until the measurement begins, and leaves out what the connections have carried until then.
  [[nodiscard]] task<> skip_warm_up();
  // Of all connections of the run.
  [[nodiscard]] wire_bytes wire() const noexcept;
  void count_wire(std::size_t second) noexcept;
  void start_workers(scope& in);
  [[nodiscard]] task<> wait_until(time_point planned, unsigned burst_max);
  [[nodiscard]] task<> start_calls(scope& in);
  void start_call(scope& in, time_point planned, bool counts);
  void record_not_begun(std::uint64_t calls);
  [[nodiscard]] task<> start_users(scope& in);

  [[nodiscard]] task<> work(std::uint64_t worker, connection& over);
  [[nodiscard]] task<> one_call(std::uint64_t number, time_point planned, bool counts, connection& over);
  [[nodiscard]] task<> user(std::uint64_t number, time_point planned);
  [[nodiscard]] task<> calls_of_user(std::uint64_t number, connection& over);
  // Returns false if the run is being stopped: the call is not counted.
  [[nodiscard]] task<bool> call(connection& over, request_place which, time_point planned, bool counts);

  const scenario& plan_;
  const method_mix& methods_;
  connector& to_;
  loop& on_;
  const std::uint64_t index_;
  const std::uint64_t workers_;
  const arrivals warm_up_;
  const arrivals arrivals_;
  std::vector<std::unique_ptr<connection>> connections_;
  load_stats stats_;
  std::unordered_set<const connection*> in_use_;
  wire_bytes of_closed_;  // what the connections of users that left have carried
  wire_bytes counted_;  // of wire(): in stats_, or left out
  time_point begins_{};
  time_point measured_from_{};
  time_point ends_ = never;  // no call begins later
  unsigned burst_ = 0;  // of the plan's arrivals since the last yield
  std::uint64_t numbered_ = 0;  // calls, warm-up included
  std::uint64_t begun_ = 0;  // calls, warm-up excluded
};

}  // namespace coracle::tools::load
