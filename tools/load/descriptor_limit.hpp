// How many connections the process may have open.
#pragma once

#include <cstdint>

namespace coracle::tools::load {

// Raises the process's own limit, as far as the system lets it; throws failure where that is too little.
void allow_descriptors(std::uint64_t wanted);

}  // namespace coracle::tools::load
