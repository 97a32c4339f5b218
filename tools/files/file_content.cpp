#include "tools/files/file_content.hpp"

#include "tools/failure.hpp"

#include <fcntl.h>
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

}  // namespace

std::string file_content(const std::string& path) {
  std::string content;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  int error = descriptor < 0 ? errno : 0;
  if (error == 0) {
    error = read_all(descriptor, content);
    ::close(descriptor);
  }
  if (error != 0) throw failure("the file " + path + " cannot be read: " + std::strerror(error));
  return content;
}

}  // namespace coracle::tools
