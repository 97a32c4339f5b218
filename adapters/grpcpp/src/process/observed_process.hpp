// observed_process: the plugins that observe all servers and channels of the process.
#pragma once

#include <grpcpp/impl/call_observing.h>

#include <memory>
#include <vector>

namespace grpc::internal {

// Those of observe_all() so far, in their order. Any thread.
[[nodiscard]] std::vector<std::shared_ptr<const call_observing>> process_observers();

}  // namespace grpc::internal
