// The older or the internal name of another header.
#pragma once

#include <grpcpp/impl/rpc_service_method.h>  // IWYU pragma: export
