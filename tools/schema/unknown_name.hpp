// unknown_name: the error for a name that no service, method or type has, or that several have.
#pragma once

#include "tools/failure.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools {

// Whether `parts` are the last parts of the name: "movie.MovieService" ends with "MovieService", but not with
// "Service".
[[nodiscard]] bool ends_in_parts(std::string_view name, std::string_view parts);

// `kind` is what was looked for, such as "method"; `all` has the full names of what there is. The error lists
// those that `typed` may stand for; otherwise it suggests the closest ones, whatever their case, or lists
// all. A hint takes the place of that list.
[[nodiscard]] failure unknown_name(const std::string& kind, std::string_view typed,
                                   const std::vector<std::string>& all, const std::string& hint = {});

}  // namespace coracle::tools
