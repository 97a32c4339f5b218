// The older or the internal name of another header.
#pragma once

#include <grpcpp/server.h>  // IWYU pragma: export
