// file_content: reads a file that a command line names.
#pragma once

#include <string>

namespace coracle::tools {

// Returns the whole content; reads pipes, too. Throws failure with the name and the reason.
[[nodiscard]] std::string file_content(const std::string& path);

}  // namespace coracle::tools
