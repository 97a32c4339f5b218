#include "tools/files/file_content.hpp"

#include "tools/failure.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace coracle::tools {

namespace {

// Returns 0 or an errno value.
int read_all(int descriptor, std::string& to) {
  std::array<char, 65536> room;
  for (;;) {
    const auto count = ::read(descriptor, room.data(), room.size());
    if (count < 0 && errno != EINTR) return errno;
    if (count == 0) return 0;
    if (count > 0) to.append(room.data(), static_cast<std::size_t>(count));
  }
}

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw failure("the file " + path + " cannot be read: " + reason);
}

// `flags`: further ones of open(). `check` returns why the open file is not read; empty if it is.
template <typename Check>
std::string content_of(const std::string& path, int flags, const Check& check) {
  std::string content;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (descriptor < 0) fail(path, std::strerror(errno));
  const std::string refused = check(descriptor);
  const int error = refused.empty() ? read_all(descriptor, content) : 0;
  ::close(descriptor);
  if (!refused.empty()) fail(path, refused);
  if (error != 0) fail(path, std::strerror(error));
  return content;
}

}  // namespace

std::string file_content(const std::string& path) {
  return content_of(path, 0, [](int) { return std::string(); });
}

std::string regular_file_content(const std::string& path, std::size_t bytes_max) {
  // Without O_NONBLOCK, open() waits for a pipe's writer.
  return content_of(path, O_NONBLOCK, [bytes_max](int descriptor) -> std::string {
    struct stat about{};
    if (::fstat(descriptor, &about) != 0) return std::strerror(errno);
    if (S_ISDIR(about.st_mode)) return std::strerror(EISDIR);
    if (!S_ISREG(about.st_mode)) return "it is no regular file";
    if (static_cast<std::size_t>(about.st_size) <= bytes_max) return {};
    return "it is larger than " + std::to_string(bytes_max >> 20) + " MiB";
  });
}

}  // namespace coracle::tools
