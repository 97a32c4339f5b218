// GPR_CODEGEN_ASSERT, for code of old versions. There is no C library behind an interface.
#pragma once

#include <grpc/support/log.h>

#define GPR_CODEGEN_ASSERT(x) GPR_ASSERT(x)
#define GPR_CODEGEN_DEBUG_ASSERT(x) GPR_DEBUG_ASSERT(x)
