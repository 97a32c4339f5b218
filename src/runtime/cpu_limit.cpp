#include "runtime/cpu_limit.hpp"

#include "runtime/cgroups.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <thread>

namespace coracle::runtime_internal {

namespace {

// "max" is no number, and version 1 writes -1: neither sets a limit.
void tighten(double& cpus, double quota_us, double period_us) noexcept {
  if (quota_us > 0 && period_us > 0) cpus = std::min(cpus, quota_us / period_us);
}

double number_in(const std::string& path) {
  std::ifstream file(path);
  double n = 0;
  file >> n;
  return file ? n : 0;
}

}  // namespace

double usable_cpus() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  // It fails on machines with more CPUs than the set has room for.
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

double read_cpu_limit(const std::string& root, double cpus) {
  for_each_cgroup(root, "cpu", [&](const std::string& folder, int version) {
    const std::string path = root + folder;
    if (version == 1)
      return tighten(cpus, number_in(path + "cpu.cfs_quota_us"), number_in(path + "cpu.cfs_period_us"));
    std::ifstream file(path + "cpu.max");
    double quota_us = 0;
    double period_us = 0;
    if (file >> quota_us >> period_us) tighten(cpus, quota_us, period_us);
  });
  return cpus;
}

}  // namespace coracle::runtime_internal
