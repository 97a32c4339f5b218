// generic: RPCs whose messages are bytes, as far as the grpc++ that the program links has them.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#if defined(CORACLE_GRPCPP_MISSING)  // coracle::grpcpp has no AsyncGenericService yet
#define AGRPC_WITHOUT_GENERIC_SERVERS
#else
#include <grpcpp/generic/async_generic_service.h>
#endif
