#include "tls/reloading.hpp"

#include <sys/stat.h>

namespace coracle::tls {

file_marks file_marks::of(const std::vector<std::string>& paths) {
  file_marks m;
  for (const std::string& path : paths) {
    mark& one = m.marks_.emplace_back();
    struct stat s{};
    if (::stat(path.c_str(), &s) != 0) continue;
    one.device = s.st_dev;
    one.inode = s.st_ino;
    one.size_bytes = s.st_size;
    one.changed_ns = s.st_mtim.tv_sec * 1'000'000'000 + s.st_mtim.tv_nsec;
  }
  return m;
}

}  // namespace coracle::tls
