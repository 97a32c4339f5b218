#include "tools/standard_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace coracle::tools {

void open_standard_files() noexcept {
  // Output that nobody reads is an error, so that descriptor cannot be written; complaints may go nowhere.
  constexpr int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
  for (int descriptor = 0; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest that is free, which is this one.
    if (::open("/dev/null", modes[descriptor]) != descriptor) std::abort();
  }
}

}  // namespace coracle::tools
