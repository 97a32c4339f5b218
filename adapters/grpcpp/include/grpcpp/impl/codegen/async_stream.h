// The older or the internal name of another header.
#pragma once

#include <grpcpp/support/async_stream.h>  // IWYU pragma: export
