#include "runtime/memory_limit.hpp"

#include "runtime/cgroups.hpp"

#include <sys/resource.h>

#include <charconv>
#include <fstream>
#include <utility>

namespace coracle::runtime_internal {

namespace {

void tighten(memory_limit& l, std::uint64_t bytes, std::string source) {
  if (bytes < l.bytes) l = {bytes, std::move(source)};
}

// "max" and missing files set no limit. Version 1 writes a number near 2^63 instead of "max".
void tighten_by_file(memory_limit& l, const std::string& root, const std::string& path) {
  std::ifstream file(root + path);
  std::string text;
  std::uint64_t bytes = 0;
  if (!std::getline(file, text)) return;
  if (std::from_chars(text.data(), text.data() + text.size(), bytes).ec == std::errc())
    tighten(l, bytes, path);
}

}  // namespace

std::uint64_t address_space_limit() noexcept {
  rlimit both{};
  if (::getrlimit(RLIMIT_AS, &both) != 0 || both.rlim_cur == RLIM_INFINITY) return memory_limit::none;
  return both.rlim_cur;
}

memory_limit read_memory_limit(const std::string& root, std::uint64_t address_space_bytes) {
  memory_limit l;
  tighten(l, address_space_bytes, "RLIMIT_AS");
  for_each_cgroup(root, "memory", [&](const std::string& folder, int version) {
    if (version == 1) return tighten_by_file(l, root, folder + "memory.limit_in_bytes");
    for (const char* file : {"memory.max", "memory.high"}) tighten_by_file(l, root, folder + file);
  });
  return l;
}

}  // namespace coracle::runtime_internal
