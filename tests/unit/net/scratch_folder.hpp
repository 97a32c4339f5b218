// scratch_folder: a directory of a test's own.
#pragma once

#include <stdlib.h>
#include <filesystem>
#include <string>

namespace coracle::net {

// Removed at the end with its contents.
class scratch_folder {
 public:
  scratch_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "coracle-net-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~scratch_folder() { std::filesystem::remove_all(path_); }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace coracle::net
