// server_faults: an interceptor that delays or ends calls before their handler starts.
#pragma once

#include "coracle/rpc/fault_options.hpp"
#include "coracle/server/server_interceptor.hpp"

#include <memory>

namespace coracle {

/// Returns an interceptor that injects faults into calls before they are decoded and handled, for
/// server::add_interceptor(). Without fault_options::methods, health checks and reflection have faults, too.
/// Throws usage_error for a negative delay, a part that is not from 0 to 1, or a method that does not begin
/// with "/". The rules are those of gRFC A33, which is for clients.
[[nodiscard]] std::shared_ptr<server_interceptor> server_faults(const fault_options& options);

}  // namespace coracle
