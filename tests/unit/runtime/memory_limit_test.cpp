#include "runtime/memory_limit.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace coracle::runtime_internal::memory_limit_test {
namespace {

// A directory with a /proc and a /sys of its own.
class memory_limit_of : public testing::Test {
 protected:
  memory_limit_of() : root_(testing::TempDir() + "memory_limit_of_" + test_name()) {
    std::filesystem::remove_all(root_);
  }
  ~memory_limit_of() override { std::filesystem::remove_all(root_); }
  static std::string test_name() { return testing::UnitTest::GetInstance()->current_test_info()->name(); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  [[nodiscard]] memory_limit limit(std::uint64_t address_space = memory_limit::none) const {
    return read_memory_limit(root_, address_space);
  }

  const std::string root_;
};

TEST_F(memory_limit_of, AMachineWithoutCgroupsIsNone) {
  EXPECT_EQ(limit().bytes, memory_limit::none);
  EXPECT_EQ(limit().source, "");
}

TEST_F(memory_limit_of, AGroupOfVersion2IsItsMemoryMax) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/b/memory.max", "300000000\n");
  write("/sys/fs/cgroup/a/b/memory.high", "max\n");
  EXPECT_EQ(limit().bytes, 300'000'000u);
  EXPECT_EQ(limit().source, "/sys/fs/cgroup/a/b/memory.max");
}

TEST_F(memory_limit_of, AGroupOfVersion2IsItsMemoryHighIfThatIsLess) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/b/memory.max", "300000000\n");
  write("/sys/fs/cgroup/a/b/memory.high", "200000000\n");
  EXPECT_EQ(limit().bytes, 200'000'000u);
  EXPECT_EQ(limit().source, "/sys/fs/cgroup/a/b/memory.high");
}

TEST_F(memory_limit_of, AGroupIsThatOfAnyGroupAboveItIfThatIsTighter) {
  write("/proc/self/cgroup", "0::/a/b/c\n");
  write("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
  write("/sys/fs/cgroup/a/b/memory.max", "500000000\n");
  write("/sys/fs/cgroup/a/memory.max", "400000000\n");
  EXPECT_EQ(limit().bytes, 400'000'000u);
  EXPECT_EQ(limit().source, "/sys/fs/cgroup/a/memory.max");
}

TEST_F(memory_limit_of, AContainerIsThatOfTheMountsRootWhereverItsGroupSeemsToBe) {
  write("/proc/self/cgroup", "0::/../of/the/host\n");
  write("/sys/fs/cgroup/memory.max", "100000000\n");
  EXPECT_EQ(limit().bytes, 100'000'000u);
  EXPECT_EQ(limit().source, "/sys/fs/cgroup/memory.max");
}

TEST_F(memory_limit_of, AGroupOfVersion1IsItsLimitInBytes) {
  write("/proc/self/cgroup", "5:cpuset:/\n4:cpu,memory:/docker/x\n0::/\n");
  write("/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "600000000\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(limit().bytes, 600'000'000u);
  EXPECT_EQ(limit().source, "/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes");
}

TEST_F(memory_limit_of, BothVersionsBesideEachOtherIsTheTighter) {
  write("/proc/self/cgroup", "4:memory:/m\n0::/u\n");
  write("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "600000000\n");
  write("/sys/fs/cgroup/unified/u/memory.max", "500000000\n");
  EXPECT_EQ(limit().source, "/sys/fs/cgroup/unified/u/memory.max");
  EXPECT_EQ(limit(400'000'000).bytes, 400'000'000u);
  EXPECT_EQ(limit(400'000'000).source, "RLIMIT_AS");
}

TEST_F(memory_limit_of, AFileThatIsNoNumberIsNone) {
  write("/proc/self/cgroup", "no line of cgroups\n4:memory:\n0::/a\n");
  write("/sys/fs/cgroup/a/memory.max", "plenty\n");
  write("/sys/fs/cgroup/memory.max", "");
  EXPECT_EQ(limit().bytes, memory_limit::none);
}

}  // namespace
}  // namespace coracle::runtime_internal::memory_limit_test
