// The older or the internal name of another header.
#pragma once

#include <grpcpp/generic/async_generic_service.h>  // IWYU pragma: export
