// EventEngine, which does not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc_event_engine::experimental {

class CORACLE_GRPCPP_ABSENT("there is no EventEngine: use coracle/runtime.hpp") EventEngine;
CORACLE_GRPCPP_ABSENT("there is no EventEngine: use coracle/runtime.hpp") void GetDefaultEventEngine(...);
CORACLE_GRPCPP_ABSENT("there is no EventEngine: use coracle/runtime.hpp") void SetDefaultEventEngine(...);
CORACLE_GRPCPP_ABSENT("there is no EventEngine: use coracle/runtime.hpp") void SetEventEngineFactory(...);
CORACLE_GRPCPP_ABSENT("there is no EventEngine: use coracle/runtime.hpp")
void SetDefaultEventEngineFactory(...);
CORACLE_GRPCPP_ABSENT("there is no EventEngine: use coracle/runtime.hpp") void EventEngineFactoryReset(...);
CORACLE_GRPCPP_ABSENT("there is no EventEngine: use coracle/runtime.hpp") void CreateEventEngine(...);

}  // namespace grpc_event_engine::experimental
