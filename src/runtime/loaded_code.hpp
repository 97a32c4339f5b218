// loaded_code: which files the code in the memory of this process comes from, and what it is called.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coracle::runtime_internal {

// A mapping of code (proc_pid_maps(5)).
struct code_mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uint64_t file_offset = 0;
  std::string path;  // or a name such as "[vdso]"
  std::string build_id;  // in hexadecimal digits; empty if the file has none
  bool replaced = false;  // whether the path has another file by now, or none
};

// Returns the mappings of code, one of the program first. Reads files of the kernel, which does not block.
std::vector<code_mapping> code_mappings();

// Returns the name of the function at an address as the linker knows it, mangled; empty if the dynamic
// symbols of its file do not name it.
std::string function_symbol(std::uintptr_t address);
// Returns the name as the source has it, or the name itself if it is not mangled.
std::string demangled(const std::string& symbol);

}  // namespace coracle::runtime_internal
