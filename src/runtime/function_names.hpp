// function_names: finds the names of the functions of this process.
#pragma once

#include "runtime/loaded_code.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::runtime_internal {

// The functions in the symbol table of an ELF file. The table of a stripped file is missing, and it has none.
class symbol_table {
 public:
  // Sections above this size are not read: names of a program are rarely above a tenth of it.
  static constexpr std::uint64_t section_bytes_max = std::uint64_t{256} << 20;

  symbol_table() = default;
  // Empty if the file cannot be read.
  explicit symbol_table(const std::string& path);
  // The symbol of the function at an offset of the file; empty if there is none. Valid as long as the table.
  [[nodiscard]] std::string_view at(std::uint64_t file_offset) const;

 private:
  struct function {
    std::uint64_t begin = 0;  // an address, as the file numbers them
    std::uint64_t bytes = 0;
    std::uint32_t name = 0;  // an offset in names_
  };
  struct segment {
    std::uint64_t file_offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;
  };
  std::vector<segment> segments_;
  std::vector<function> functions_;  // by their beginning
  std::string names_;
};

// Reads files, so it is for a thread for blocking work. The mappings must outlive it.
class function_names {
 public:
  explicit function_names(std::span<const code_mapping> mappings) : mappings_(mappings) {}
  // Returns the symbol of the function at an address, from the symbol table of its file, or else from the
  // dynamic symbols; empty if neither knows it.
  [[nodiscard]] std::string at(std::uintptr_t address);

 private:
  const std::span<const code_mapping> mappings_;
  std::map<std::string, symbol_table> tables_;  // by path
};

}  // namespace coracle::runtime_internal
