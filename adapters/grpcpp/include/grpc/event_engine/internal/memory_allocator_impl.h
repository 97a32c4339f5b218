// Of EventEngine, which does not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc_event_engine::experimental::internal {

class CORACLE_GRPCPP_ABSENT("there is no EventEngine: use coracle/runtime.hpp") MemoryAllocatorImpl;

}  // namespace grpc_event_engine::experimental::internal
