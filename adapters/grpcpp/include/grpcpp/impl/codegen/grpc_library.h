// The older or the internal name of another header.
#pragma once

#include <grpc/grpc.h>  // IWYU pragma: export
