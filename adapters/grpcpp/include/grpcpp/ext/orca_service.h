// Load reports, which do not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc::experimental {

class CORACLE_GRPCPP_ABSENT("there are no load reports yet: AddTrailingMetadata() with figures of your own")
    OrcaService;

}  // namespace grpc::experimental
