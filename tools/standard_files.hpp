// standard_files: what a program is started with: its input, its output, and where it complains.
#pragma once

namespace coracle::tools {

// Opens /dev/null for each of them that is closed: else the next descriptor, such as the io_uring itself, would be taken
// for it. The input is at its end then, and what is printed is found to be lost. First thing in main().
void open_standard_files() noexcept;

}  // namespace coracle::tools
