// The older or the internal name of another header.
#pragma once

#include <grpcpp/support/slice.h>  // IWYU pragma: export
