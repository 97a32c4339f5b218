#include "tools/standard_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace coracle::tools {

void open_standard_files() noexcept {
  // The modes make writes to a closed stdout fail, since losing output is an error; lost error messages are
  // not.
  constexpr int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
  for (int descriptor = 0; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() returns the lowest free descriptor, which is this one.
    if (::open("/dev/null", modes[descriptor]) != descriptor) std::abort();
  }
}

}  // namespace coracle::tools
