// node: how a process introduces itself to its control planes.
#pragma once

#include "xds/bootstrap/bootstrap.hpp"
#include "xds/wire/core.pb.h"

#include <string>

namespace coracle::xds {

[[nodiscard]] wire::Node node_message(const node_identity& from, const std::string& user_agent_name,
                                      const std::string& user_agent_version);

}  // namespace coracle::xds
