// The older or the internal name of another header.
#pragma once

#include <grpcpp/support/async_unary_call.h>  // IWYU pragma: export
