#include "runtime/function_names.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

namespace coracle::runtime_internal::function_names_test {
namespace {

using ::testing::HasSubstr;

[[gnu::noinline]] int function_without_export(int n) { return n + 1; }

TEST(function_names, AFunctionOfTheProgramHasItsSymbolThoughNothingExportsIt) {
  const std::vector<code_mapping> all = code_mappings();
  function_names names(all);
  EXPECT_THAT(demangled(names.at(reinterpret_cast<std::uintptr_t>(&function_without_export) + 1)),
              HasSubstr("function_without_export"));
  EXPECT_EQ(names.at(reinterpret_cast<std::uintptr_t>(&::getppid)), "getppid")
      << "of a library without a table";
  EXPECT_EQ(names.at(1), "");
}

TEST(function_names, FilesThatAreNoProgramsHaveNoSymbols) {
  EXPECT_EQ(symbol_table("/nowhere/at/all").at(0), "");
  EXPECT_EQ(symbol_table("/proc/self/maps").at(0), "");
}

}  // namespace
}  // namespace coracle::runtime_internal::function_names_test
