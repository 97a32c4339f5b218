// The older or the internal name of another header.
#pragma once

#include <grpc/support/sync.h>  // IWYU pragma: export
