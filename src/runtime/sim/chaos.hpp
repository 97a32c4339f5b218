// chaos: the faults of a simulated world that come from time to time: partitions, crashes, jumps of clocks.
#pragma once

#include "coracle/runtime/sim_faults.hpp"
#include "runtime/sim/hosts.hpp"
#include "runtime/sim/seeded_random.hpp"

#include <vector>

namespace coracle::sim {

// The world's. It runs between turns.
class chaos {
 public:
  chaos(network& net, hosts& of) noexcept : net_(net), hosts_(of), random_(net.random().draw()) {}

  // From now on; what was cut or crashed before is still mended.
  void set(const faults& f);
  // The next fault. It comes only if something else happens later: a world without work is not kept going by it.
  [[nodiscard]] time_point next_fault() const noexcept;
  // The next heal or restart. The world waits for these.
  [[nodiscard]] time_point next_mend() const noexcept;
  void run_due();

 private:
  struct mend {
    time_point when;
    simulated_host* a;
    simulated_host* b;  // null: a starts again; else they see each other again
  };
  [[nodiscard]] time_point drawn(duration every);
  void mend_due();
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
  std::vector<mend> mends_;
};

}  // namespace coracle::sim
