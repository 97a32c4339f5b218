// The keys of metadata of a balancer of its own, gRPCLB. The library gives them no meaning.
#pragma once

#include <grpcpp/impl/one_library.h>

#define GRPC_LB_TOKEN_MD_KEY "lb-token"
#define GRPC_LB_COST_MD_KEY "lb-cost-bin"
