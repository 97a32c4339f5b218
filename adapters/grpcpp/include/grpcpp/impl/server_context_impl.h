// The older or the internal name of another header.
#pragma once

#include <grpcpp/server_context.h>  // IWYU pragma: export
