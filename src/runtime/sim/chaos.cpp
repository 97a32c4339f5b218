#include "runtime/sim/chaos.hpp"

#include <algorithm>

namespace coracle::sim {

void chaos::set(const faults& f) {
  faults_ = f;
  next_partition_ = drawn(f.partition_every());
  next_crash_ = drawn(f.crash_every());
  next_jump_ = drawn(f.clock_jump_every());
}

// Between zero and twice the interval, so that `every` is the mean.
time_point chaos::drawn(duration every) {
  return every > duration::zero() ? deadline_after(net_.now(), random_.up_to(2 * every)) : never;
}

time_point chaos::next_fault() const noexcept { return std::min({next_partition_, next_crash_, next_jump_}); }

time_point chaos::next_repair() const noexcept {
  time_point next = never;
  for (const repair& m : repairs_) next = std::min(next, m.when);
  return next;
}

void chaos::run_due() {
  repair_due();
  const time_point now = net_.now();
  if (next_partition_ <= now) partition_two();
  if (next_crash_ <= now) crash_one();
  if (next_jump_ <= now) jump_one();
}

void chaos::repair_due() {
  for (std::size_t i = 0; i < repairs_.size();) {
    const repair m = repairs_[i];
    if (m.when > net_.now()) {
      ++i;
      continue;
    }
    repairs_.erase(repairs_.begin() + static_cast<std::ptrdiff_t>(i));
    if (m.b) net_.heal(*m.a->net, *m.b->net);
    else hosts_.restart(*m.a);
  }
}

void chaos::partition_two() {
  next_partition_ = drawn(faults_.partition_every());
  const auto& all = hosts_.all();
  if (all.size() < 2) return;
  simulated_host& a = *all[random_.below(all.size())];
  simulated_host& b = *all[random_.below(all.size())];
  if (&a == &b) return;
  net_.cut(*a.net, *b.net);
  repairs_.push_back({deadline_after(net_.now(), random_.up_to(faults_.partition())), &a, &b});
}

void chaos::crash_one() {
  next_crash_ = drawn(faults_.crash_every());
  std::vector<simulated_host*> can;
  for (const auto& h : hosts_.all())
    if (h->life && h->starts) can.push_back(h.get());
  if (can.empty()) return;
  simulated_host& h = *can[random_.below(can.size())];
  hosts_.crash(h);
  repairs_.push_back({deadline_after(net_.now(), random_.up_to(faults_.down())), &h, nullptr});
}

void chaos::jump_one() {
  next_jump_ = drawn(faults_.clock_jump_every());
  const auto& all = hosts_.all();
  if (all.empty()) return;
  // g++ evaluates arguments in one order for x86-64, and in the other for ARM.
  simulated_host& h = *all[random_.below(all.size())];
  net_.jump_clock(*h.net, random_.up_to(2 * faults_.clock_jump()) - faults_.clock_jump());
}

}  // namespace coracle::sim
