// server_observer_group: several observers of one server as one.
#pragma once

#include "coracle/server/server_observer.hpp"

#include <memory>
#include <vector>

namespace coracle::server_internal {

// Makes an observer that notifies `all` in their order. They must outlive it.
[[nodiscard]] std::unique_ptr<server_observer> group_of(std::vector<server_observer*> all);

}  // namespace coracle::server_internal
