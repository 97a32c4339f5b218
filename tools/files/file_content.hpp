// file_content: reads a file that a command line names.
#pragma once

#include <cstddef>
#include <string>

namespace coracle::tools {

// Returns the whole content; reads pipes, too. Throws failure with the name and the reason.
[[nodiscard]] std::string file_content(const std::string& path);
// The same for a regular file of at most so many bytes: a pipe may never end.
[[nodiscard]] std::string regular_file_content(const std::string& path, std::size_t bytes_max);

}  // namespace coracle::tools
