// The older or the internal name of another header.
#pragma once

#include <grpcpp/impl/call.h>  // IWYU pragma: export
