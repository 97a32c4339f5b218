// Load reports, which do not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc::load_reporter::experimental {

class CORACLE_GRPCPP_ABSENT("there are no load reports yet: AddTrailingMetadata() with figures of your own")
    LoadReportingServiceServerBuilderOption;
CORACLE_GRPCPP_ABSENT("there are no load reports yet: AddTrailingMetadata() with figures of your own")
void AddLoadReportingCost(...);

}  // namespace grpc::load_reporter::experimental
