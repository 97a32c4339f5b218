#include "runtime/function_names.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>

namespace coracle::runtime_internal {

namespace {

// Reads `count` items from an offset of the file. Returns nothing if the file has fewer.
template <class T>
std::vector<T> read_items(std::ifstream& file, std::uint64_t offset, std::uint64_t count) {
  if (count > symbol_table::section_bytes_max / sizeof(T)) return {};
  std::vector<T> items(count);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(items.data()), static_cast<std::streamsize>(count * sizeof(T)));
  if (!file) items.clear();
  file.clear();
  return items;
}

bool is_of_this_machine(const ElfW(Ehdr) & header) noexcept {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) &&
         header.e_shentsize == sizeof(ElfW(Shdr)) && header.e_phentsize == sizeof(ElfW(Phdr));
}

}  // namespace

symbol_table::symbol_table(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto headers = read_items<ElfW(Ehdr)>(file, 0, 1);
  if (headers.empty() || !is_of_this_machine(headers.front())) return;
  const ElfW(Ehdr)& header = headers.front();
  for (const ElfW(Phdr) & part : read_items<ElfW(Phdr)>(file, header.e_phoff, header.e_phnum))
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0)
      segments_.push_back({part.p_offset, part.p_filesz, part.p_vaddr});
  const auto sections = read_items<ElfW(Shdr)>(file, header.e_shoff, header.e_shnum);
  const auto symbols = std::ranges::find(sections, ElfW(Word){SHT_SYMTAB}, &ElfW(Shdr)::sh_type);
  if (symbols == sections.end() || symbols->sh_link >= sections.size()) return;
  const ElfW(Shdr)& names = sections[symbols->sh_link];
  const auto text = read_items<char>(file, names.sh_offset, names.sh_size);
  if (text.empty() || text.back() != '\0') return;
  names_.assign(text.begin(), text.end());
  const std::uint64_t count = symbols->sh_size / sizeof(ElfW(Sym));
  for (const ElfW(Sym) & symbol : read_items<ElfW(Sym)>(file, symbols->sh_offset, count))
    if ((symbol.st_info & 0xf) == STT_FUNC && symbol.st_shndx != SHN_UNDEF && symbol.st_name < names_.size())
      functions_.push_back({symbol.st_value, symbol.st_size, symbol.st_name});
  std::ranges::sort(functions_, [](const function& a, const function& b) {
    return std::pair(a.begin, a.name) < std::pair(b.begin, b.name);
  });
}

std::string_view symbol_table::at(std::uint64_t file_offset) const {
  const auto in = std::ranges::find_if(segments_, [&](const segment& s) {
    return s.file_offset <= file_offset && file_offset - s.file_offset < s.bytes;
  });
  if (in == segments_.end()) return {};
  const std::uint64_t address = in->address + (file_offset - in->file_offset);
  auto after = std::ranges::upper_bound(functions_, address, {}, &function::begin);
  if (after == functions_.begin()) return {};
  const function& f = *--after;
  // A function in assembly may have no size.
  if (f.bytes != 0 && address - f.begin >= f.bytes) return {};
  return names_.c_str() + f.name;
}

std::string function_names::at(std::uintptr_t address) {
  const auto in = std::ranges::find_if(
      mappings_, [&](const code_mapping& m) { return m.begin <= address && address < m.end; });
  if (in == mappings_.end()) return {};
  // A file that replaces the one that runs has other functions.
  if (!in->replaced && in->path.starts_with('/')) {
    auto known = tables_.find(in->path);
    if (known == tables_.end()) known = tables_.emplace(in->path, symbol_table(in->path)).first;
    if (const std::string_view name = known->second.at(address - in->begin + in->file_offset); !name.empty())
      return std::string(name);
  }
  return function_symbol(address);
}

}  // namespace coracle::runtime_internal
