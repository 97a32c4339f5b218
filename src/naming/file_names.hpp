// file_names: the contents of a file that lists servers.
#pragma once

#include "coracle/base/result.hpp"
#include "naming/server_list.hpp"

#include <string_view>

namespace coracle::naming {

// Parses what with_file_names.hpp describes. The status is INVALID_ARGUMENT and says what is wrong where; a
// list without servers is wrong, too.
[[nodiscard]] result<server_list> parse_server_file(std::string_view json);

}  // namespace coracle::naming
