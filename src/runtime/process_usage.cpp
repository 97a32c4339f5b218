#include "runtime/process_usage.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

namespace coracle::runtime_internal {

namespace {

duration time_of(const timeval& t) noexcept {
  return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
}

std::uint64_t bytes_of_a_page() noexcept { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

duration cpu_time_of_process() noexcept {
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) != 0) return {};
  return time_of(used.ru_utime) + time_of(used.ru_stime);
}

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  file >> all >> resident;
  return file ? resident * bytes_of_a_page() : 0;
}

std::uint64_t machine_bytes() noexcept {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * bytes_of_a_page();
}

}  // namespace coracle::runtime_internal
