// chaos: faults that occur from time to time in a simulated world: partitions, crashes, clock jumps.
#pragma once

#include "coracle/runtime/sim_faults.hpp"
#include "runtime/sim/hosts.hpp"
#include "runtime/sim/seeded_random.hpp"

#include <vector>

namespace coracle::sim {

// Owned by the world. Runs between turns.
class chaos {
 public:
  chaos(network& net, hosts& of) noexcept : net_(net), hosts_(of), random_(net.random().draw()) {}

  // Applies from now on; partitions and crashes that already happened are still repaired.
  void set(const faults& f);
  // The time of the next fault. It happens only if something else happens later: it does not keep a world
  // without work running.
  [[nodiscard]] time_point next_fault() const noexcept;
  // The time of the next heal or restart. The world waits for these.
  [[nodiscard]] time_point next_repair() const noexcept;
  void run_due();

 private:
  struct repair {
    time_point when;
    simulated_host* a;
    simulated_host* b;  // null: a restarts; else the partition of a and b ends
  };
  [[nodiscard]] time_point drawn(duration every);
  void repair_due();
  void partition_two();
  void crash_one();
  void jump_one();

  network& net_;
  hosts& hosts_;
  seeded_random random_;
  faults faults_;
  time_point next_partition_ = never;
  time_point next_crash_ = never;
  time_point next_jump_ = never;
  std::vector<repair> repairs_;
};

}  // namespace coracle::sim
