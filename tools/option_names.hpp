// option_names: the library's advice, for those who have a command line in place of its classes.
#pragma once

#include <string>
#include <string_view>

namespace coracle::tools {

// The same message, with the names of the program's options where the library names its functions.
[[nodiscard]] std::string with_option_names(std::string_view message);

}  // namespace coracle::tools
