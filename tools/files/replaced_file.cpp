#include "tools/files/replaced_file.hpp"

#include "tools/failure.hpp"
#include "tools/files/write_all.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace coracle::tools {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void not_written(const std::string& path, int error) {
  throw failure("the file " + path + " cannot be written: " + std::strerror(error));
}

// What a symbolic link points to, also if that does not exist yet.
fs::path resolved(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(path, error);
  return error ? fs::path(path) : real;
}

std::string folder_of(const fs::path& file) {
  const fs::path folder = file.parent_path();
  return folder.empty() ? "." : folder.string();
}

// Those of the file, or those of a new one.
mode_t permissions_of(const fs::path& file) {
  struct stat about{};
  if (::stat(file.c_str(), &about) == 0) return about.st_mode & 07777;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

void check_replaceable(const std::string& path) {
  const fs::path real = resolved(path);
  struct stat about{};
  if (::stat(real.c_str(), &about) == 0 && !S_ISREG(about.st_mode))
    not_written(path, S_ISDIR(about.st_mode) ? EISDIR : EINVAL);
  if (::access(real.c_str(), W_OK) != 0 && errno != ENOENT) not_written(path, errno);
  if (::access(folder_of(real).c_str(), W_OK | X_OK) != 0) not_written(path, errno);
}

void replace_file(const std::string& path, std::string_view content) {
  const fs::path real = resolved(path);
  std::string part = real.string() + ".XXXXXX";
  const int descriptor = ::mkostemp(part.data(), O_CLOEXEC);
  if (descriptor < 0) not_written(path, errno);
  int error = write_all(descriptor, content);
  if (error == 0 && ::fchmod(descriptor, permissions_of(real)) != 0) error = errno;
  // A full disk may be reported only by close().
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(part.c_str(), real.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(part.c_str());
  not_written(path, error);
}

}  // namespace coracle::tools
