// heap_profile: takes a heap profile of the process from its allocator.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "telemetry/profiles/encode_profile.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal {

// Reads the text of a heap profile of jemalloc or gperftools; nothing if it is neither. The counts and bytes
// of jemalloc are those of sampled blocks: they become estimates of all blocks.
std::optional<profile_content> read_heap_dump(std::string_view text);

// Returns the profile in pprof's format, compressed with gzip. Fails as dump_heap() does. All is done on a
// thread for blocking work.
task<result<std::string>> take_heap_profile();

}  // namespace coracle::telemetry_internal
