// Load reports, which do not exist here: ExperimentalGetCallMetricRecorder() is refused.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc::experimental {

class CallMetricRecorder;

}  // namespace grpc::experimental
