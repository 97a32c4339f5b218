// The older or the internal name of another header.
#pragma once

#include <grpc/fork.h>  // IWYU pragma: export
