// The older or the internal name of another header.
#pragma once

#include <grpcpp/impl/service_type.h>  // IWYU pragma: export
