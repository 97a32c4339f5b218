// The older or the internal name of another header.
#pragma once

#include <grpc/support/atm.h>  // IWYU pragma: export
