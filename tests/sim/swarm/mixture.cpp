#include "sim/swarm/mixture.hpp"

#include <chrono>

namespace coracle::swarm {

namespace {

using namespace std::chrono_literals;

// The faults that keep connections intact.
void add_mild(sim::faults& f, dice& d) {
  if (d.one_in(2)) f.jitter(d.up_to(50ms));
  if (d.one_in(2)) f.packet_loss(0.04);
  if (d.one_in(2)) f.short_reads(0.5);
  if (d.one_in(2)) f.short_writes(0.5);
  if (d.one_in(3)) f.slow_accepts(0.5, d.up_to(1s));
  if (d.one_in(3)) f.clock_jumps(1s, 24h);
}

void add_hard(mixture& m, dice& d) {
  m.breaks = true;
  sim::faults& f = m.faults;
  if (d.one_in(2)) f.resets(0.02);
  if (d.one_in(3)) f.no_buffers(0.01);
  if (d.one_in(3)) f.no_descriptors(0.2);
  if (d.one_in(3)) {
    f.blackholes(0.005);
    m.silent = true;
  }
  if (d.one_in(2)) {
    // One draw a statement: the order of arguments is the compiler's.
    const duration often = 1s + d.up_to(20s);
    f.partitions(often, 1s + d.up_to(30s));
    m.silent = true;
  }
  if (d.one_in(2)) {
    const duration often = 100ms + d.up_to(10s);
    f.crashes(often, d.up_to(10s));
    m.silent = m.crashes = true;
  }
}

}  // namespace

mixture draw_mixture(dice& from) {
  mixture m;
  const std::uint64_t kind = from.below(8);
  if (kind == 0) return m;
  add_mild(m.faults, from);
  if (kind >= 3) add_hard(m, from);
  if (kind == 7) {
    m.faults = sim::faults::everything();
    m.breaks = m.silent = m.crashes = true;
  }
  return m;
}

}  // namespace coracle::swarm
