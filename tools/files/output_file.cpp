#include "tools/files/output_file.hpp"

#include "tools/failure.hpp"
#include "tools/files/write_all.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace coracle::tools {

namespace {

// A pipe or a device cannot be truncated.
bool empty(int descriptor) {
  struct stat file_stat{};
  if (::fstat(descriptor, &file_stat) != 0) return false;
  return !S_ISREG(file_stat.st_mode) || ::ftruncate(descriptor, 0) == 0;
}

}  // namespace

output_file::output_file(std::string path) : path_(std::move(path)) {
  if (path_.empty() || to_stdout()) return;
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  created_unused_ = descriptor_ >= 0;
  // O_CREAT again: the file that a symbolic link points to may not exist yet.
  if (descriptor_ < 0 && errno == EEXIST)
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw failure("the file " + path_ + " cannot be written: " + std::strerror(errno));
}

output_file::~output_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (created_unused_) ::unlink(path_.c_str());
}

void output_file::write(const std::string& text) {
  if (to_stdout()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  created_unused_ = false;
  if (!empty(descriptor_) || write_all(descriptor_, text) != 0)
    throw failure("the file " + path_ + " cannot be written completely: " + std::strerror(errno));
}

}  // namespace coracle::tools
