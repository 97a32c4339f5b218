// The older or the internal name of another header.
#pragma once

#include <grpcpp/impl/one_library.h>  // IWYU pragma: export
