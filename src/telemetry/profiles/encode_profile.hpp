// encode_profile: a profile in pprof's format, profile.proto.
#pragma once

#include "coracle/base/clock.hpp"
#include "runtime/loaded_code.hpp"
#include "telemetry/otlp/wire.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::telemetry_internal {

struct profile_times {
  wall_time begun;
  duration took{};
};

// What a value means: "cpu" in "nanoseconds".
struct profile_value_type {
  std::string_view name;
  std::string_view unit;
};

struct profile_sample {
  std::vector<std::uintptr_t> addresses;  // from where the thread was to its start; each is in an instruction
  std::vector<std::uint64_t> values;  // as many as the profile has types
  std::string thread;  // its name; empty for none
};

struct profile_content {
  std::vector<profile_value_type> types;
  std::string_view default_type;
  profile_value_type period_type;
  std::uint64_t period = 0;  // one sample stands for it
  std::vector<profile_sample> samples;
  std::string comment;
  profile_times times;
};

// Returns the symbol of the function at an address; empty if it is not known.
using symbol_finder = std::function<std::string(std::uintptr_t address)>;

// Returns the profile as a message perftools.profiles.Profile, not compressed. The name of a thread is the
// label "thread". A function without a symbol has the name of its place in its file, unless pprof finds a
// better one.
std::string encode_profile(const profile_content& of,
                           std::span<const runtime_internal::code_mapping> mappings,
                           const symbol_finder& symbol_of);

// Returns a profile of this process, compressed with gzip. Reads files: for a thread for blocking work.
std::string compressed_profile(const profile_content& of);

}  // namespace coracle::telemetry_internal
