// cpu_limit: how many CPUs the system lets this process use.
#pragma once

#include <string>

namespace coracle::runtime_internal {

// Returns the number of CPUs that this process may run on (sched_getaffinity(2)); at least 1.
double usable_cpus() noexcept;

// Returns `cpus`, or the lowest quota among the process's cgroup and all cgroups above it, if that is less: a
// quota of 150 ms per 100 ms is 1.5 CPUs. Reads cpu.max of cgroup v2, and cpu.cfs_quota_us and
// cpu.cfs_period_us of cgroup v1, as read_memory_limit() reads its files.
double read_cpu_limit(const std::string& root = {}, double cpus = usable_cpus());

}  // namespace coracle::runtime_internal
