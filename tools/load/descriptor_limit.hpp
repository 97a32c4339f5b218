// descriptor_limit: raises the number of connections that the process may have open.
#pragma once

#include <cstdint>

namespace coracle::tools::load {

// Raises the process's own limit as far as the system permits; throws failure if that is not enough.
void allow_descriptors(std::uint64_t needed);

}  // namespace coracle::tools::load
