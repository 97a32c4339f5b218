// The older or the internal name of another header.
#pragma once

#include <grpcpp/support/config.h>  // IWYU pragma: export
