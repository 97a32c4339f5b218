// The older or the internal name of another header.
#pragma once

#include <grpcpp/support/time.h>  // IWYU pragma: export
