// The older or the internal name of another header.
#pragma once

#include <grpcpp/support/server_callback.h>  // IWYU pragma: export
