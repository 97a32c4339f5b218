#include "base/log_time.hpp"

namespace coracle::base {

std::chrono::system_clock::time_point log_time() noexcept { return std::chrono::system_clock::now(); }

}  // namespace coracle::base
