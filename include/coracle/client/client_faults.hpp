// client_faults: an interceptor that delays or ends calls before they are sent.
#pragma once

#include "coracle/client/client_interceptor.hpp"
#include "coracle/rpc/fault_options.hpp"

#include <memory>

namespace coracle {

/// Returns an interceptor that injects faults into calls before anything of them is sent, for
/// channel_options::interceptors or channel::with_interceptors(). Interceptors before it see the faults.
/// Throws usage_error for a negative delay, a part that is not from 0 to 1, or a method that does not begin
/// with "/". Source: gRFC A33.
[[nodiscard]] std::shared_ptr<client_interceptor> client_faults(const fault_options& options);

}  // namespace coracle
