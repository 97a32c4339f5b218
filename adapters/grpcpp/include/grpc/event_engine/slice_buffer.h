// Of EventEngine, which does not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc_event_engine::experimental {

class CORACLE_GRPCPP_ABSENT("there is no EventEngine: use coracle/runtime.hpp") SliceBuffer;

}  // namespace grpc_event_engine::experimental
