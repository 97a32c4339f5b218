// The older or the internal name of another header.
#pragma once

#include <grpc/status.h>  // IWYU pragma: export
