// The older or the internal name of another header.
#pragma once

#include <grpcpp/impl/proto_utils.h>  // IWYU pragma: export
