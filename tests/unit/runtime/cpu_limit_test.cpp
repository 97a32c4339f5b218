#include "runtime/cpu_limit.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace coracle::runtime_internal::cpu_limit_test {
namespace {

// A directory with a /proc and a /sys of its own, on a machine with 8 CPUs.
class cpu_limit_of : public testing::Test {
 protected:
  cpu_limit_of()
      : root_(testing::TempDir() + "cpu_limit_of_" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(root_);
  }
  ~cpu_limit_of() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  [[nodiscard]] double limit() const { return read_cpu_limit(root_, 8); }

  const std::string root_;
};

TEST_F(cpu_limit_of, AMachineWithoutCgroupsIsItsCpus) { EXPECT_EQ(limit(), 8); }

TEST_F(cpu_limit_of, AGroupOfVersion2IsItsQuotaByItsPeriod) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
  EXPECT_EQ(limit(), 1.5);
}

TEST_F(cpu_limit_of, AGroupIsThatOfAnyGroupAboveItIfThatIsTighter) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
  EXPECT_EQ(limit(), 2);
}

TEST_F(cpu_limit_of, AQuotaAboveTheCpusIsTheCpus) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "1600000 100000\n");
  EXPECT_EQ(limit(), 8);
}

TEST_F(cpu_limit_of, AGroupOfVersion1IsItsQuotaByItsPeriod) {
  write("/proc/self/cgroup", "4:cpu,cpuacct:/a\n");
  write("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 0.5);
}

TEST_F(cpu_limit_of, AFileWithoutNumbersSetsNoLimit) {
  write("/proc/self/cgroup", "0::/a\n");
  write("/sys/fs/cgroup/a/cpu.max", "many few\n");
  EXPECT_EQ(limit(), 8);
}

TEST(cpu_limit, ThisProcessMayUseACpu) { EXPECT_GE(usable_cpus(), 1); }

}  // namespace
}  // namespace coracle::runtime_internal::cpu_limit_test
