// The older or the internal name of another header.
#pragma once

#include <grpc/impl/connectivity_state.h>  // IWYU pragma: export
