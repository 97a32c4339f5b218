// file_marks: tells whether files are still the ones that were read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coracle::tls {

// What stat() says of each file behind its symbolic links: a new file that was renamed over an old one, a link that
// points elsewhere (Kubernetes) and a file that was written to are all different.
class file_marks {
 public:
  file_marks() = default;
  // Now. A file that is not there has a mark of its own.
  static file_marks of(const std::vector<std::string>& paths);
  friend bool operator==(const file_marks&, const file_marks&) = default;

 private:
  struct mark {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size_bytes = -1;
    std::int64_t changed_ns = 0;
    friend bool operator==(const mark&, const mark&) = default;
  };
  std::vector<mark> marks_;
};

}  // namespace coracle::tls
