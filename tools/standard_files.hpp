// standard_files: makes sure that the three standard descriptors are open.
#pragma once

namespace coracle::tools {

// Opens /dev/null for each standard descriptor that is closed; otherwise a later descriptor, such as that of
// io_uring, would take its number. A closed stdin then reads as empty, and printing to a closed stdout fails.
// Call it first in main().
void open_standard_files() noexcept;

}  // namespace coracle::tools
