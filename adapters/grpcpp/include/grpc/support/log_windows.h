// The older or the internal name of another header.
#pragma once

#include <grpc/support/log.h>  // IWYU pragma: export
