// The older or the internal name of another header.
#pragma once

#include <grpcpp/impl/rpc_method.h>  // IWYU pragma: export
