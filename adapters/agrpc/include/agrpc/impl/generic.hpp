// generic: RPCs whose messages are bytes, where the grpc++ that the program links has them.
#pragma once

#include <grpcpp/completion_queue.h>

#if defined(CORACLE_GRPCPP_MISSING)  // coracle::grpcpp has no GenericStub and no AsyncGenericService yet
#define AGRPC_WITHOUT_GENERIC_RPCS
#else
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#endif
