#include "runtime/loaded_code.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace coracle::runtime_internal::loaded_code_test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

const code_mapping* mapping_of(const std::vector<code_mapping>& all, std::uintptr_t address) {
  const auto found =
      std::ranges::find_if(all, [&](const code_mapping& m) { return m.begin <= address && address < m.end; });
  return found == all.end() ? nullptr : &*found;
}

TEST(loaded_code, TheProgramIsTheFirstMapping) {
  const std::vector<code_mapping> all = code_mappings();
  const code_mapping* const ours = mapping_of(all, reinterpret_cast<std::uintptr_t>(&mapping_of));
  ASSERT_NE(ours, nullptr);
  EXPECT_EQ(ours->path, all.front().path);
  EXPECT_THAT(ours->path, HasSubstr("/"));
}

TEST(loaded_code, ALibraryHasItsPathAndItsBuildId) {
  const std::vector<code_mapping> all = code_mappings();
  const code_mapping* const libc = mapping_of(all, reinterpret_cast<std::uintptr_t>(&::getppid));
  ASSERT_NE(libc, nullptr);
  EXPECT_THAT(libc->path, HasSubstr("libc"));
  EXPECT_THAT(libc->build_id, MatchesRegex("[0-9a-f]{16,}"));
}

TEST(loaded_code, AFunctionOfALibraryHasItsSymbol) {
  EXPECT_EQ(function_symbol(reinterpret_cast<std::uintptr_t>(&::getppid)), "getppid");
  EXPECT_EQ(function_symbol(0), "");
}

TEST(loaded_code, NamesAreDemangled) {
  EXPECT_EQ(demangled("_ZN7coracle4loop8wall_nowEv"), "coracle::loop::wall_now()");
  EXPECT_EQ(demangled("main"), "main");
}

}  // namespace
}  // namespace coracle::runtime_internal::loaded_code_test
