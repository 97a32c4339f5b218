// The older or the internal name of another header.
#pragma once

#include <grpc/grpc_security_constants.h>  // IWYU pragma: export
