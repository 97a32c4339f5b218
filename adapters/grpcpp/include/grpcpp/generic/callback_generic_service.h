// The newer place of the generic services.
#pragma once

#include <grpcpp/generic/async_generic_service.h>  // IWYU pragma: export
