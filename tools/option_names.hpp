// option_names: rewrites the library's error messages for users of the command line.
#pragma once

#include <string>
#include <string_view>

namespace coracle::tools {

// Returns the message with the program's option names in place of the library's function names.
[[nodiscard]] std::string with_option_names(std::string_view message);

}  // namespace coracle::tools
