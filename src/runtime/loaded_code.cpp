#include "runtime/loaded_code.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <system_error>

namespace coracle::runtime_internal {

namespace {

constexpr std::string_view replaced_file = " (deleted)";

std::size_t aligned_to(std::size_t bytes, std::size_t boundary) noexcept {
  return (bytes + boundary - 1) / boundary * boundary;
}

// The build id among the notes of an object; empty if there is none.
std::string build_id_in(const unsigned char* notes, std::size_t bytes, std::size_t boundary) {
  static constexpr char digits[] = "0123456789abcdef";
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const std::size_t name = aligned_to(note.n_namesz, boundary);
    const std::size_t all = sizeof note + name + aligned_to(note.n_descsz, boundary);
    if (all > bytes) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes + sizeof note, "GNU", 4) == 0) {
      std::string id;
      for (std::size_t i = 0; i < note.n_descsz; ++i) {
        const unsigned char byte = notes[sizeof note + name + i];
        id.push_back(digits[byte >> 4]);
        id.push_back(digits[byte & 15]);
      }
      return id;
    }
    notes += all;
    bytes -= all;
  }
  return {};
}

// Whether the part of an object is in memory.
bool is_loaded(const dl_phdr_info& object, const ElfW(Phdr) & part) noexcept {
  return std::any_of(object.dlpi_phdr, object.dlpi_phdr + object.dlpi_phnum, [&](const ElfW(Phdr) & in) {
    return in.p_type == PT_LOAD && in.p_vaddr <= part.p_vaddr &&
           part.p_vaddr + part.p_memsz <= in.p_vaddr + in.p_filesz;
  });
}

int add_build_id(dl_phdr_info* object, std::size_t, void* argument) {
  auto& to = *static_cast<std::vector<code_mapping>*>(argument);
  std::string id;
  for (std::size_t i = 0; i < object->dlpi_phnum && id.empty(); ++i)
    if (const auto& part = object->dlpi_phdr[i]; part.p_type == PT_NOTE && is_loaded(*object, part))
      id = build_id_in(reinterpret_cast<const unsigned char*>(object->dlpi_addr + part.p_vaddr), part.p_memsz,
                       part.p_align == 8 ? 8 : 4);
  if (id.empty()) return 0;
  for (std::size_t i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    for (code_mapping& m : to)
      if (begin >= m.begin && begin < m.end) m.build_id = id;
  }
  return 0;
}

}  // namespace

std::vector<code_mapping> code_mappings() {
  std::vector<code_mapping> all;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    code_mapping one;
    char dash = 0;
    std::string permissions;
    std::string device;
    std::uint64_t inode = 0;
    words >> std::hex >> one.begin >> dash >> one.end >> permissions >> one.file_offset >> device >>
        std::dec >> inode >> std::ws;
    if (permissions.find('x') == std::string::npos) continue;
    std::getline(words, one.path);
    one.replaced = one.path.ends_with(replaced_file);
    if (one.replaced) one.path.resize(one.path.size() - replaced_file.size());
    all.push_back(std::move(one));
  }
  ::dl_iterate_phdr(&add_build_id, &all);
  std::error_code unreadable;
  std::string program = std::filesystem::read_symlink("/proc/self/exe", unreadable);
  if (program.ends_with(replaced_file)) program.resize(program.size() - replaced_file.size());
  const auto first = std::ranges::find(all, program, &code_mapping::path);
  if (first != all.end()) std::rotate(all.begin(), first, first + 1);
  return all;
}

std::string function_symbol(std::uintptr_t address) {
  Dl_info found{};
  if (::dladdr(reinterpret_cast<const void*>(address), &found) == 0 || !found.dli_sname) return {};
  return found.dli_sname;
}

std::string demangled(const std::string& symbol) {
  int wrong = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &wrong), &std::free);
  return name ? std::string(name.get()) : symbol;
}

}  // namespace coracle::runtime_internal
