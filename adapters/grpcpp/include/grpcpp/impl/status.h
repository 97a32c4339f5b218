// The older or the internal name of another header.
#pragma once

#include <grpcpp/support/status.h>  // IWYU pragma: export
