#include "runtime/kernel/this_process.hpp"

#include <errno.h>
#include <unistd.h>
#include <array>

namespace coracle::runtime_internal {

std::int64_t process_id() noexcept { return getpid(); }

std::string program_name() { return program_invocation_short_name; }

std::string host_name() {
  std::array<char, 256> text{};
  return gethostname(text.data(), text.size() - 1) == 0 ? text.data() : "";
}

}  // namespace coracle::runtime_internal
