// recording_output: the files that recordings are written to, on request, on a signal and by a crash.
#pragma once

#include "coracle/runtime/process_signal.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::runtime_internal {

// The number of the process.
std::uint32_t process_number() noexcept;

// Writes a file that only its owner may read, in place of its content. Returns 0, or an error number.
int write_private_file(const std::string& path, std::string_view bytes) noexcept;

// The path of a file that a signal causes may have this length.
inline constexpr std::size_t recording_path_bytes_max = 1000;

// Installs handlers for the signals of crashes: SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT (a broken invariant,
// an exception that nothing catches) and SIGSYS. They write the file, then do what was done before. After
// `also_on` the process continues. "%p" in the path becomes the number of the process. Any thread, any number
// of times; the last call decides. Returns 0, or an error number: EINVAL for an empty path, ENAMETOOLONG.
int record_on_signals(std::string_view path, std::optional<process_signal> also_on) noexcept;

}  // namespace coracle::runtime_internal
