// What a call inherits from another one.
#pragma once

#include <grpcpp/impl/one_library.h>

#define GRPC_PROPAGATE_DEADLINE 1U
#define GRPC_PROPAGATE_CENSUS_STATS_CONTEXT 2U
#define GRPC_PROPAGATE_CENSUS_TRACING_CONTEXT 4U
#define GRPC_PROPAGATE_CANCELLATION 8U
#define GRPC_PROPAGATE_DEFAULTS 0xffffU
