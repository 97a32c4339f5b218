// failing_allocations: plays a scenario and lets each of its allocations fail, each in a child process of its
// own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace coracle::test {

// A child that did not end as expected, with those that ended in the same way.
struct failed_children {
  std::string end;  // the signal, std::terminate, or what the scenario returned
  std::string allocation;  // the stack of the allocation that failed
  std::string stack;  // the stack at the child's end
  std::vector<std::uint64_t> numbers;  // of the allocations
};

struct allocation_failures {
  std::uint64_t failed = 0;  // allocations that failed, each in a child
  std::vector<failed_children> broken;

  // For the test's output: each kind of end, with its stacks.
  [[nodiscard]] std::string report() const;
};

struct failing_options {
  // Whether an allocation of the thread counts at this moment.
  std::function<bool()> counts = [] { return true; };
  // Functions whose allocations may end the process: the death of a child is not a failure if one of these
  // names is in the stack of the allocation.
  std::vector<std::string> exceptions;
  // The number of consecutive allocations that fail.
  std::uint64_t burst = 1;
  // One of this many allocations fails.
  std::uint64_t stride = 1;
};

// Plays `scenario` once. Whenever it allocates (malloc() and similar functions, which operator new and C
// libraries call), a child process is forked in which this allocation fails; the child plays the scenario to
// its end. The scenario returns a description of the failure, or an empty string; it counts allocations
// between two calls of count_allocations(). It must run on one thread. The simulation's own allocations never
// fail, because it represents the kernel.
allocation_failures fail_each_allocation(const std::function<std::string()>& scenario,
                                         const failing_options& options = {});

// The same for scenarios with threads and descriptors, which a child must not share with its parent: each
// child plays the scenario from its beginning, until one of them makes fewer allocations. No bursts.
allocation_failures fail_each_allocation_anew(const std::function<std::string()>& scenario,
                                              const failing_options& options = {});

void count_allocations(bool on) noexcept;

}  // namespace coracle::test
