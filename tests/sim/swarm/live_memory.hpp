// live_memory: how many blocks this program has taken from the heap and not given back.
#pragma once

#include <cstdint>

namespace coracle::swarm {

std::int64_t live_blocks() noexcept;

}  // namespace coracle::swarm
