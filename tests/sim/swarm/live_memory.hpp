// live_memory: the number of heap blocks that this program has allocated and not freed.
#pragma once

#include <cstdint>

namespace coracle::swarm {

std::int64_t live_blocks() noexcept;

}  // namespace coracle::swarm
