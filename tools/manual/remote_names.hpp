// remote_names: names of services, methods and messages for completion.
#pragma once

#include <string>
#include <vector>

namespace coracle::tools {

struct remote_name {
  std::string name;
  std::string description;
};

// The names that may stand after the words of a command line: services for ls, methods for call and load,
// both and messages for describe. They come from the files that the words name, or from the server; what the
// server said is kept for five minutes below XDG_CACHE_HOME. Ends the program after half a second without an
// answer, so that a shell does not wait. Empty if the names cannot be found.
[[nodiscard]] std::vector<remote_name> remote_names(const std::string& command,
                                                    const std::vector<std::string>& typed,
                                                    const std::string& begun);

}  // namespace coracle::tools
