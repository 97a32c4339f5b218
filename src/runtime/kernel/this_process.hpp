// this_process: what identifies the process among others.
#pragma once

#include <cstdint>
#include <string>

namespace coracle::runtime_internal {

[[nodiscard]] std::int64_t process_id() noexcept;
// The name of the program's file, without its folder.
[[nodiscard]] std::string program_name();
// The name of the machine; empty if there is none.
[[nodiscard]] std::string host_name();

}  // namespace coracle::runtime_internal
