// served_names(): the names of the services of a server.
#pragma once

#include "coracle/server/service.hpp"

#include <set>
#include <string>

namespace coracle::services {

// Names of the form "package.Service", taken from the paths of the methods. A service without methods has no
// name that a call could use.
[[nodiscard]] std::set<std::string, std::less<>> served_names(const service_host& host);

}  // namespace coracle::services
