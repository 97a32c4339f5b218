// The older or the internal name of another header.
#pragma once

#include <grpc/compression.h>  // IWYU pragma: export
