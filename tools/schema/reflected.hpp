// Definitions that a server tells of itself (grpc/grpc doc/server-reflection.md; v1, else v1alpha).
#pragma once

#include "tools/endpoint.hpp"
#include "tools/schema/schema.hpp"

#include <memory>

namespace coracle::tools {

// The channel and the endpoint must outlive it.
[[nodiscard]] std::unique_ptr<definitions> reflected(call_channel& server, const endpoint& where);

}  // namespace coracle::tools
