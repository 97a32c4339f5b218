// heap_dump: what the allocator of this process knows of its blocks, if it records them.
#pragma once

#include "coracle/base/result.hpp"

#include <cstddef>
#include <string>

namespace coracle::runtime_internal {

// A larger one is an error.
inline constexpr std::size_t heap_dump_bytes_max = std::size_t{64} << 20;

// Returns a heap profile in the text format of the allocator: jemalloc's ("heap_v2/") or that of gperftools
// ("heap profile:"). UNIMPLEMENTED if the program has neither as a shared library, or it does not record;
// ABORTED while another thread does the same; another status if it fails. Writes a temporary file, so it is
// for a thread for blocking work.
result<std::string> dump_heap();

}  // namespace coracle::runtime_internal
