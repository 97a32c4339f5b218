// server_observer_group: several observers of one server as one.
#pragma once

#include "coracle/server/server_observer.hpp"

#include <memory>
#include <vector>

namespace coracle::server_internal {

// Notifies `all` in their order. Returns null for none, and the observer itself for one.
[[nodiscard]] std::shared_ptr<server_observer> group_of(std::vector<std::shared_ptr<server_observer>> all);

}  // namespace coracle::server_internal
