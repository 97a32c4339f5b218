// The older or the internal name of another header.
#pragma once

#include <grpc/support/port_platform.h>  // IWYU pragma: export
