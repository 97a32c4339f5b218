// served_names(): the services that a server answers for.
#pragma once

#include "coracle/server/service.hpp"

#include <set>
#include <string>

namespace coracle::services {

// "package.Service", from the paths of their methods; one without methods has no name that a call could bear.
[[nodiscard]] std::set<std::string, std::less<>> served_names(const service_host& host);

}  // namespace coracle::services
