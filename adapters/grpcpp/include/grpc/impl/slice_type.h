// The older or the internal name of another header.
#pragma once

#include <grpc/slice.h>  // IWYU pragma: export
