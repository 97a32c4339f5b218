// file_content: what is in a file that a command line names.
#pragma once

#include <string>

namespace coracle::tools {

// All of it, also of a pipe. Throws failure with the name and the reason.
[[nodiscard]] std::string file_content(const std::string& path);

}  // namespace coracle::tools
