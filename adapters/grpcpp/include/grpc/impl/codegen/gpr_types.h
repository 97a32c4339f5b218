// The older or the internal name of another header.
#pragma once

#include <grpc/support/time.h>  // IWYU pragma: export
