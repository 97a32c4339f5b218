// Servers of xDS, which do not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc {

class CORACLE_GRPCPP_ABSENT("there is no xDS yet: use grpc::ServerBuilder") XdsServerBuilder;
class CORACLE_GRPCPP_ABSENT("there is no xDS yet: use grpc::ServerBuilder")
    XdsServerServingStatusNotifierInterface;

}  // namespace grpc
